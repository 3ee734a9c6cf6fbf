"""Tokens for SASL OAUTHBEARER: made here, read from a file, or requested from an identity provider."""
