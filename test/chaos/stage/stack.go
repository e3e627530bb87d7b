package stage

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

// Stack is the servers on which scenarios run, one after another, and the seats of the processes.
type Stack struct {
	dir   string
	Ports *local.Ports

	Kafka   *local.Kafka
	MariaDB *local.MariaDB
	Redis   *local.Redis

	Servers                                 []*local.Server
	KafkaServer, MariaDBServer, RedisServer *local.Server

	// What a scenario uses instead of the single Redis, Kafka or MariaDB, and how the processes reach it; nil where it
	// uses the single one.
	Sentinel          *local.RedisSentinel
	Cluster           *local.RedisCluster
	Brokers           *local.KafkaCluster
	Pair              *local.MariaDBPair
	RedisAt, BrokerAt map[string]any
	Account           string          // of the processes at the databases
	more              []*local.Server // the servers of these

	Seats []*Seat
	// tables is the way to the databases of everybody but the processes: the server that takes writes, without faults.
	Tables *proxy.Proxy
	DB     *sql.DB
	Cache  *redis.Client // Redis itself
}

// Seat is the place of one process of adsync: its name, and its own proxy to each service.
type Seat struct {
	Name, Role            string
	Kafka, MariaDB, Redis *proxy.Proxy
}

// the processes of a deployment.
var seatNames = []struct{ name, role string }{
	{"p1", "producer"}, {"p2", "producer"}, {"c1", "consumer"}, {"c2", "consumer"}, {"c3", "consumer"},
}

// StartStack starts the servers with their data in dir. Close the stack also after an error.
func StartStack(ctx context.Context, dir string, stderr io.Writer) (*Stack, error) {
	s := &Stack{dir: dir, Ports: local.NewPorts(), Kafka: &local.Kafka{}, MariaDB: &local.MariaDB{}, Redis: &local.Redis{},
		Account: Root}
	for _, n := range seatNames {
		seat := &Seat{Name: n.name, Role: n.role}
		for _, p := range []**proxy.Proxy{&seat.Kafka, &seat.MariaDB, &seat.Redis} {
			port, err := s.Ports.Take()
			if err != nil {
				return s, err
			}
			if *p, err = proxy.Listen(local.Loopback(port)); err != nil {
				return s, err
			}
		}
		// A broker sends its clients to the address that it advertises: each process needs a listener of its own.
		s.Kafka.Listeners = append(s.Kafka.Listeners, &local.KafkaListener{Advertised: seat.Kafka.Addr()})
		s.Seats = append(s.Seats, seat)
	}
	var err error
	if s.Servers, err = local.LaunchAll(ctx, dir, s.Ports, stderr, s.Kafka, s.MariaDB, s.Redis); err != nil {
		return s, err
	}
	s.KafkaServer, s.MariaDBServer, s.RedisServer = s.Servers[0], s.Servers[1], s.Servers[2]
	port, err := s.Ports.Take()
	if err != nil {
		return s, err
	}
	if s.Tables, err = proxy.Listen(local.Loopback(port)); err != nil {
		return s, err
	}
	s.Tables.Target(s.MariaDB.Addr())
	for i, seat := range s.Seats {
		seat.Kafka.Target(s.Kafka.Listeners[i].Addr)
		seat.MariaDB.Target(s.MariaDB.Addr())
		seat.Redis.Target(s.Redis.Addr())
	}
	if s.DB, err = sql.Open("mysql", s.DSN()); err != nil {
		return s, err
	}
	s.Cache = redis.NewClient(&redis.Options{Addr: s.Redis.Addr()})
	return s, nil
}

// Root is the database account of everything but adsync's processes, and of these unless a scenario sets another.
const Root = "root"

// DSN returns the DSN of the databases' server, without a database name.
func (s *Stack) DSN() string { return Root + "@tcp(" + s.Tables.Addr() + ")/" }

// Write directs everything to another database server. Connections to the previous one break.
func (s *Stack) Write(to *local.Server) {
	ways := []*proxy.Proxy{s.Tables}
	for _, seat := range s.Seats {
		ways = append(ways, seat.MariaDB)
	}
	for _, way := range ways {
		way.Target(to.Kind.(*local.MariaDB).Addr())
		way.Break()
	}
}

// Now returns the database server's time.
func (s *Stack) Now(ctx context.Context) (time.Time, error) {
	var text string
	if err := s.DB.QueryRowContext(ctx,
		"SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%sZ')").Scan(&text); err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, text)
}

// Close stops everything.
func (s *Stack) Close() error {
	if s.DB != nil {
		_ = s.DB.Close()
		_ = s.Cache.Close()
	}
	ways := []*proxy.Proxy{s.Tables}
	for _, seat := range s.Seats {
		ways = append(ways, seat.Kafka, seat.MariaDB, seat.Redis)
	}
	for _, p := range ways {
		if p != nil {
			p.Close()
		}
	}
	err := local.KillAll(s.Servers)
	s.Ports.Release()
	return err
}

// Launch starts the servers that a scenario uses instead of single ones, with their data in a folder of the name. The
// returned function calls forget and ends them.
func (s *Stack) Launch(ctx context.Context, name string, d interface {
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
		err = d.Launch(ctx, dir, s.Ports, io.Discard)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the servers of %s: %w", name, err), undo(ctx))
	}
	s.more = append(s.more, d.Servers()...)
	return undo, nil
}

// Heal ends the proxies' disturbances, and waits until all servers run and answer.
func (s *Stack) Heal(ctx context.Context) error {
	for _, seat := range s.Seats {
		seat.pass()
	}
	for _, server := range slices.Concat(s.Servers, s.more) {
		if err := server.Continue(); err != nil {
			return err
		}
		if err := server.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Seat) pass() {
	s.Kafka.Pass()
	s.MariaDB.Pass()
	s.Redis.Pass()
}

// Struck returns how many connections and pieces of the seat were disturbed since the stack began.
func (s *Seat) Struck() int { return s.Kafka.Struck() + s.MariaDB.Struck() + s.Redis.Struck() }
