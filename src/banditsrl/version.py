"""Which version is this?"""

VERSION = "0.2.0"
