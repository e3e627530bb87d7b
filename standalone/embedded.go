package standalone

import (
	"fmt"

	"adsync/base/broker"
	"adsync/base/broker/embedded"
	"adsync/base/redis"
	redisembedded "adsync/base/redis/embedded"
	"adsync/base/secret"
	"adsync/base/sqldb"
)

// databases returns the named databases, or files of the directory.
func (s *stack) databases() sqldb.Config {
	if s.Servers.Store != nil {
		return *s.Servers.Store
	}
	file := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(s.dir.file(name)), MaxOpenConns: 1}
	}
	return sqldb.Config{Config: file("config.db"), Data: file("data.db")}
}

// kafkaServer returns the settings of Kafka; without one it starts an embedded one.
func (s *stack) kafkaServer() (broker.Config, error) {
	if s.Servers.Broker != nil {
		return *s.Servers.Broker, nil
	}
	dir := s.dir.file("kafka")
	if s.dir.temp {
		dir = "" // Nothing continues with it.
	}
	server, err := embedded.Start(dir)
	if err != nil {
		return broker.Config{}, fmt.Errorf("start the embedded Kafka: %w", err)
	}
	s.opened(func() error { server.Close(); return nil })
	cfg := broker.DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.Replication, cfg.MinInsync = []string{server.Addr()}, partitions, 1, 1
	return cfg, nil
}

// redisServer returns the settings of Redis; without one it starts an embedded one.
func (s *stack) redisServer() (redis.Config, error) {
	if s.Servers.Redis != nil {
		return *s.Servers.Redis, nil
	}
	server, err := redisembedded.Start()
	if err != nil {
		return redis.Config{}, fmt.Errorf("start the embedded Redis: %w", err)
	}
	s.opened(func() error { server.Close(); return nil })
	cfg := redis.DefaultConfig()
	cfg.Addrs = []string{server.Addr()}
	return cfg, nil
}
