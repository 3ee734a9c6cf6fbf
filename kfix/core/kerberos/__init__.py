"""Kerberos as a client of a broker: tickets by MIT's library (the extra `kerberos`), and the exchange of RFC 4752."""
