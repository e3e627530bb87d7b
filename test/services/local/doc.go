// Package local runs real Kafka, MariaDB, Redis, PostgreSQL, versitygw, OpenSSH and vsftpd servers as processes of this
// machine, on spare ports of 127.0.0.1 and with their own data. It can stop, kill and pause them, and start them again
// on the same port and data.
//
// RedisSentinel, RedisCluster, KafkaCluster and MariaDBPair are several servers that work together. OldestKafka is a
// release of years ago. Each finds a server by its present role, such as the master, and can promote another.
//
// The programs are Debian's packages and Kafka's own jars, which are installed or fetched if they are missing.
package local
