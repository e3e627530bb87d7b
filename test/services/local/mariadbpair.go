package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// MariaDBPair is a server and its replica, which follows by global transaction ids. Either can be promoted and then
// be followed.
//
// The replica refuses the writes of all accounts except root.
type MariaDBPair struct {
	// Settings are added to those of both servers.
	Settings []string

	servers []*Server
	writer  int // the index of the one that takes writes
}

// Launch starts both with their data below dir, and returns when the replica follows. Stop it in the end, also after
// an error.
func (d *MariaDBPair) Launch(ctx context.Context, dir string, ports *Ports, stderr io.Writer) error {
	var kinds []Kind
	for i := range 2 {
		settings := []string{
			fmt.Sprintf("--server-id=%d", i+1), "--log-bin=binlog", "--log-slave-updates", "--gtid-strict-mode",
			// What a crash left in the relay log is fetched again.
			"--relay-log=relay", "--relay-log-recovery",
		}
		kinds = append(kinds, &MariaDB{
			Label: fmt.Sprintf("mariadb-%d", i+1), readOnly: i != d.writer, Settings: append(settings, d.Settings...),
		})
	}
	var err error
	if d.servers, err = LaunchAll(ctx, dir, ports, stderr, kinds...); err != nil {
		return err
	}
	if err := d.follow(ctx); err != nil {
		return err
	}
	return d.Await(ctx)
}

// Stop ends both.
func (d *MariaDBPair) Stop() error { return StopAll(d.servers) }

// Servers returns both.
func (d *MariaDBPair) Servers() []*Server { return d.servers }

// Writer returns the server that takes writes.
func (d *MariaDBPair) Writer() *Server { return d.servers[d.writer] }

// Replica returns the server that follows the other, or that should once it runs.
func (d *MariaDBPair) Replica() *Server { return d.servers[1-d.writer] }

// WriterDSN and ReplicaDSN are those of the two servers, without a database.
func (d *MariaDBPair) WriterDSN() string { return mariadbOf(d.Writer()).DSN() }

// ReplicaDSN is WriterDSN of the other.
func (d *MariaDBPair) ReplicaDSN() string { return mariadbOf(d.Replica()).DSN() }

func mariadbOf(s *Server) *MariaDB { return s.Kind.(*MariaDB) }

// CreateAccount creates databases, which must not exist, and an account without a password that has adsync's rights
// on them: those that docs/servers.md lists.
func (d *MariaDBPair) CreateAccount(ctx context.Context, account string, databases ...string) error {
	writer := mariadbOf(d.Writer())
	if err := writer.CreateDatabases(ctx, databases...); err != nil {
		return err
	}
	statements := []string{"CREATE USER " + account}
	for _, name := range databases {
		statements = append(statements,
			"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW, SHOW VIEW ON "+name+".* TO "+account)
	}
	return writer.exec(ctx, statements...)
}

// Await waits until the replica has everything that the writer had when it was called.
func (d *MariaDBPair) Await(ctx context.Context) error {
	for _, s := range d.servers {
		if err := s.Await(ctx); err != nil {
			return err
		}
	}
	want, err := mariadbOf(d.Writer()).position(ctx)
	if err != nil {
		return err
	}
	return AwaitReady(ctx, "the replica of "+d.Writer().Name(), func(ctx context.Context) error {
		replica := mariadbOf(d.Replica())
		state, err := replica.replication(ctx)
		if err != nil {
			return err
		}
		if state["Slave_IO_Running"] != "Yes" || state["Slave_SQL_Running"] != "Yes" {
			return fmt.Errorf("receiving: %s, applying: %s: %s%s",
				state["Slave_IO_Running"], state["Slave_SQL_Running"], state["Last_IO_Error"], state["Last_SQL_Error"])
		}
		return replica.has(ctx, want)
	}, nil)
}

// Promote makes the replica the writer. A writer that runs refuses writes first, so that nothing is lost, and follows
// the new one then. Transactions that a lost writer had not sent are lost too. Call Follow when it runs again.
func (d *MariaDBPair) Promote(ctx context.Context) error {
	old, next := d.Writer(), mariadbOf(d.Replica())
	try, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	runs := mariadbOf(old).Ready(try) == nil
	if runs {
		if err := mariadbOf(old).exec(ctx, "SET GLOBAL read_only = 1"); err != nil {
			return err
		}
		if err := d.Await(ctx); err != nil {
			return err
		}
	}
	// It has received what it can: now it applies all of it.
	if err := AwaitReady(ctx, next.Name()+" to apply what it has received", func(ctx context.Context) error {
		state, err := next.replication(ctx)
		if err != nil {
			return err
		}
		received, err := sequence(state["Gtid_IO_Pos"])
		if err != nil {
			return err
		}
		return next.has(ctx, received)
	}, nil); err != nil {
		return err
	}
	d.writer = 1 - d.writer
	next.readOnly, mariadbOf(old).readOnly = false, true // Also after their next start.
	if err := next.exec(ctx, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"); err != nil {
		return fmt.Errorf("promote %s: %w", next.Name(), err)
	}
	if runs {
		return d.Follow(ctx)
	}
	return nil
}

// Follow makes the server that is not the writer follow it: a former writer that runs again.
func (d *MariaDBPair) Follow(ctx context.Context) error {
	if err := d.Replica().Await(ctx); err != nil {
		return err
	}
	return errors.Join(d.follow(ctx), d.Await(ctx))
}

func (d *MariaDBPair) follow(ctx context.Context) error {
	host, port, err := net.SplitHostPort(mariadbOf(d.Writer()).addr)
	if err != nil {
		return err
	}
	replica := mariadbOf(d.Replica())
	if err := replica.exec(ctx, "STOP SLAVE",
		"CHANGE MASTER TO MASTER_HOST = '"+host+"', MASTER_PORT = "+port+", MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, "+
			"MASTER_USE_GTID = current_pos",
		"START SLAVE", "SET GLOBAL read_only = 1"); err != nil {
		return fmt.Errorf("make %s follow %s: %w", replica.Name(), d.Writer().Name(), err)
	}
	return nil
}

// has returns an error unless the server has everything up to a number.
func (s *MariaDB) has(ctx context.Context, want int64) error {
	reached, err := s.position(ctx)
	if err == nil && reached < want {
		err = fmt.Errorf("%s has transactions up to %d, want %d", s.Name(), reached, want)
	}
	return err
}

// position returns the number of the last transaction that the server has.
func (s *MariaDB) position(ctx context.Context) (int64, error) {
	var gtid string
	if err := s.query(ctx, "SELECT @@gtid_current_pos", &gtid); err != nil {
		return 0, err
	}
	return sequence(gtid)
}

// sequence returns the number of a global transaction id: domain, server, number. Both servers use one domain.
func sequence(gtid string) (int64, error) {
	if gtid == "" {
		return 0, nil
	}
	return strconv.ParseInt(gtid[strings.LastIndexByte(gtid, '-')+1:], 10, 64)
}

// replication returns the server's state as a replica, empty if it is none.
func (s *MariaDB) replication(ctx context.Context) (map[string]string, error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return nil, fmt.Errorf("%s: show the state as a replica: %w", s.Name(), err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	state := map[string]string{}
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, name := range names {
			state[name] = values[i].String
		}
	}
	return state, rows.Err()
}
