"""Policies in an application."""
