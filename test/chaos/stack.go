package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"adsync/test/chaos/proxy"
	"adsync/test/services/local"
)

// stack is the servers that scenarios run on, one scenario after the other, and the seats of the processes.
type stack struct {
	dir   string
	ports *local.Ports

	kafka   *local.Kafka
	mariadb *local.MariaDB
	redis   *local.Redis

	servers                                 []*local.Server
	kafkaServer, mariadbServer, redisServer *local.Server

	// What a scenario has in the place of the one Redis, Kafka or MariaDB, and how the processes reach it; nil where it has that one.
	sentinel          *local.RedisSentinel
	cluster           *local.RedisCluster
	brokers           *local.KafkaCluster
	pair              *local.MariaDBPair
	redisAt, brokerAt map[string]any
	account           string          // of the processes at the databases
	more              []*local.Server // the servers of these

	seats []*seat
	// tables is the way to the databases of everybody but the processes: the server that takes writes, without faults.
	tables *proxy.Proxy
	db     *sql.DB
	cache  *redis.Client // Redis itself
}

// seat is the place of one process of adsync: what it is called, and its own way to each service.
type seat struct {
	name, role            string
	kafka, mariadb, redis *proxy.Proxy
}

// the processes of a deployment.
var seatNames = []struct{ name, role string }{
	{"p1", "producer"}, {"p2", "producer"}, {"c1", "consumer"}, {"c2", "consumer"}, {"c3", "consumer"},
}

// startStack starts the servers with their data in dir. Close the stack also after an error.
func startStack(ctx context.Context, dir string, stderr io.Writer) (*stack, error) {
	s := &stack{dir: dir, ports: local.NewPorts(), kafka: &local.Kafka{}, mariadb: &local.MariaDB{}, redis: &local.Redis{}, account: root}
	for _, n := range seatNames {
		seat := &seat{name: n.name, role: n.role}
		for _, p := range []**proxy.Proxy{&seat.kafka, &seat.mariadb, &seat.redis} {
			port, err := s.ports.Take()
			if err != nil {
				return s, err
			}
			if *p, err = proxy.Listen(local.Loopback(port)); err != nil {
				return s, err
			}
		}
		// A broker sends its clients to the address that it advertises: each process needs a listener of its own.
		s.kafka.Listeners = append(s.kafka.Listeners, &local.KafkaListener{Advertised: seat.kafka.Addr()})
		s.seats = append(s.seats, seat)
	}
	var err error
	if s.servers, err = local.LaunchAll(ctx, dir, s.ports, stderr, s.kafka, s.mariadb, s.redis); err != nil {
		return s, err
	}
	s.kafkaServer, s.mariadbServer, s.redisServer = s.servers[0], s.servers[1], s.servers[2]
	port, err := s.ports.Take()
	if err != nil {
		return s, err
	}
	if s.tables, err = proxy.Listen(local.Loopback(port)); err != nil {
		return s, err
	}
	s.tables.Target(s.mariadb.Addr())
	for i, seat := range s.seats {
		seat.kafka.Target(s.kafka.Listeners[i].Addr)
		seat.mariadb.Target(s.mariadb.Addr())
		seat.redis.Target(s.redis.Addr())
	}
	if s.db, err = sql.Open("mysql", s.dsn()); err != nil {
		return s, err
	}
	s.cache = redis.NewClient(&redis.Options{Addr: s.redis.Addr()})
	return s, nil
}

// root is the account of everybody but the processes at the databases, and of these where nothing else is said.
const root = "root"

// dsn is that of the databases, without a name of one.
func (s *stack) dsn() string { return root + "@tcp(" + s.tables.Addr() + ")/" }

// write has all go to another server for the databases. Connections to the one before break.
func (s *stack) write(to *local.Server) {
	ways := []*proxy.Proxy{s.tables}
	for _, seat := range s.seats {
		ways = append(ways, seat.mariadb)
	}
	for _, way := range ways {
		way.Target(to.Kind.(*local.MariaDB).Addr())
		way.Break()
	}
}

// now returns the time of the databases.
func (s *stack) now(ctx context.Context) (time.Time, error) {
	var text string
	if err := s.db.QueryRowContext(ctx, "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%sZ')").Scan(&text); err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, text)
}

// close stops everything.
func (s *stack) close() error {
	if s.db != nil {
		_ = s.db.Close()
		_ = s.cache.Close()
	}
	ways := []*proxy.Proxy{s.tables}
	for _, seat := range s.seats {
		ways = append(ways, seat.kafka, seat.mariadb, seat.redis)
	}
	for _, p := range ways {
		if p != nil {
			p.Close()
		}
	}
	err := local.KillAll(s.servers)
	s.ports.Release()
	return err
}

// launch starts the servers that a scenario has in the place of single ones, with their data in a folder of the name. What it returns undoes that: it
// calls forget, and ends them.
func (s *stack) launch(ctx context.Context, name string, d interface {
	Launch(ctx context.Context, dir string, ports *local.Ports, stderr io.Writer) error
	Servers() []*local.Server
	Stop() error
}, forget func(),
) (undo func(context.Context) error, err error) {
	undo = func(context.Context) error {
		s.more = nil
		forget()
		return d.Stop()
	}
	dir, err := os.MkdirTemp(s.dir, name+"-")
	if err == nil {
		err = d.Launch(ctx, dir, s.ports, io.Discard)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the servers of %s: %w", name, err), undo(ctx))
	}
	s.more = append(s.more, d.Servers()...)
	return undo, nil
}

// heal ends what the proxies do, and has all servers run and answer.
func (s *stack) heal(ctx context.Context) error {
	for _, seat := range s.seats {
		seat.pass()
	}
	for _, server := range slices.Concat(s.servers, s.more) {
		if err := server.Continue(); err != nil {
			return err
		}
		if err := server.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *seat) pass() {
	s.kafka.Pass()
	s.mariadb.Pass()
	s.redis.Pass()
}

// struck is how many connections and pieces of the seat were spoiled since the stack began.
func (s *seat) struck() int { return s.kafka.Struck() + s.mariadb.Struck() + s.redis.Struck() }
