"""Which version is this?"""

VERSION = "0.3.0"
