// Package local runs real Kafka, MariaDB, Redis and PostgreSQL servers as processes of this machine, on spare ports
// of 127.0.0.1 and with data of their own, and can hurt them: stop, kill, pause and start them again on the same
// port and data.
//
// RedisSentinel, RedisCluster, KafkaCluster and MariaDBPair are several servers that work together, and OldestKafka
// is a release of years ago. Each finds one of its servers by what it does at the moment, such as the master, and
// can promote another.
//
// The programs are Debian's packages and Kafka's own jars, which are installed or fetched when they are missing.
package local
