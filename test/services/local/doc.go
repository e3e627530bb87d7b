// Package local runs real Kafka, MariaDB, Redis and PostgreSQL servers as processes of this machine, on spare ports of 127.0.0.1
// and with data of their own, and can hurt them: stop, kill, pause and start them again on the same port and data.
//
// The programs are Debian's packages and Kafka's own jars, which are installed or fetched when they are missing.
package local
