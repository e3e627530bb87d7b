package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"adsync/base/store/ledger"
	"adsync/test/chaos/proxy"
)

var mariadbScenarios = []scenario{
	{
		name:  "mariadb-restarted",
		doc:   "MariaDB is stopped in good order and started again",
		steps: func(ctx context.Context, t *trial) error { return restartMariaDB(ctx, t, t.stack.MariaDBServer.Stop) },
	},
	{
		name:  "mariadb-killed",
		doc:   "kill -9 of MariaDB, which is started again",
		steps: func(ctx context.Context, t *trial) error { return restartMariaDB(ctx, t, t.stack.MariaDBServer.Kill) },
	},
	{
		name: "mariadb-commit-unknown",
		doc: "connections are cut when a COMMIT, or a statement with an implicit commit, was sent and its answer has not " +
			"come",
		steps: func(ctx context.Context, t *trial) error {
			for range 40 {
				i := t.instances[t.random.IntN(len(t.instances))]
				trigger := isCommit
				if t.random.IntN(3) == 0 {
					trigger = isWrite
				}
				i.MariaDB.CutAnswer(trigger)
				if err := t.wait(ctx, t.between(100*time.Millisecond, 500*time.Millisecond)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "mariadb-cuts",
		doc:  "all connections of one process after another are cut, at any moment",
		steps: func(ctx context.Context, t *trial) error {
			for range 30 {
				t.instances[t.random.IntN(len(t.instances))].MariaDB.Break()
				if err := t.wait(ctx, t.between(100*time.Millisecond, 600*time.Millisecond)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name:  "mariadb-deadlocks",
		doc:   "other transactions deadlock with adsync's on runs, subtasks and coverage, and adsync's are rolled back",
		steps: deadlocks,
	},
	{
		name: "mariadb-stalls",
		doc:  "MariaDB stands still for 5 s, three times",
		steps: func(ctx context.Context, t *trial) error {
			for range 3 {
				if err := t.stack.MariaDBServer.Pause(); err != nil {
					return err
				}
				t.strike("stalls of MariaDB", 1)
				if err := t.wait(ctx, 5*time.Second); err != nil {
					return err
				}
				if err := t.stack.MariaDBServer.Continue(); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(2*time.Second, 4*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "mariadb-slow",
		doc:  "everything to and from MariaDB takes 100 ms more",
		steps: func(ctx context.Context, t *trial) error {
			for _, i := range t.instances {
				i.MariaDB.Delay(100 * time.Millisecond)
			}
			return t.wait(ctx, t.between(10*time.Second, 14*time.Second))
		},
	},
	{
		name: "mariadb-silent-for-the-leader",
		doc: "MariaDB does not answer the leader for longer than its lease: another producer leads, and the first changes " +
			"nothing " +
			"any more",
		steps: func(ctx context.Context, t *trial) error {
			i, err := t.leader(ctx)
			if err != nil {
				return err
			}
			i.MariaDB.Hold([]proxy.Direction{proxy.Up, proxy.Down, proxy.Both}[t.random.IntN(3)])
			t.log("%s is cut off from MariaDB", i.Name)
			return t.wait(ctx, t.between(10*time.Second, 14*time.Second))
		},
	},
	{
		name: "mariadb-refuses-a-consumer", stallMax: 20 * time.Second,
		doc: "one consumer alone is cut off from MariaDB: it takes no new work, and the others continue",
		steps: func(ctx context.Context, t *trial) error {
			i := t.any("consumer")
			i.MariaDB.Cut()
			t.log("%s is cut off from MariaDB", i.Name)
			return t.wait(ctx, t.between(9*time.Second, 13*time.Second))
		},
	},
	{
		name: "mariadb-read-only",
		doc:  "MariaDB takes no writes for some seconds, as after a failover to a server that is not yet the writer",
		steps: func(ctx context.Context, t *trial) error {
			return refuseWrites(ctx, t, errPacket(1290, "HY000",
				"The MariaDB server is running with the --read-only option so it cannot execute this statement"))
		},
	},
	{
		name: "mariadb-disk-full",
		doc:  "MariaDB has no room for writes for some seconds",
		steps: func(ctx context.Context, t *trial) error {
			return refuseWrites(ctx, t, errPacket(1114, "HY000", "The table 'run' is full"))
		},
	},
}

func restartMariaDB(ctx context.Context, t *trial, end func() error) error {
	if err := end(); err != nil {
		return err
	}
	t.strike("ends of MariaDB", 1)
	if err := t.wait(ctx, t.between(2*time.Second, 6*time.Second)); err != nil {
		return err
	}
	if err := t.stack.MariaDBServer.Start(); err != nil {
		return err
	}
	return t.stack.MariaDBServer.Await(ctx)
}

// comQuery is the first byte of a statement's payload. Before it are 3 bytes of length and a sequence number.
const comQuery = 0x03

// statement returns the text of a piece that is one whole statement.
func statement(piece []byte) ([]byte, bool) {
	if len(piece) < 5 || piece[3] != 0 || piece[4] != comQuery {
		return nil, false
	}
	length := int(piece[0]) | int(piece[1])<<8 | int(piece[2])<<16
	return piece[5:], length == len(piece)-4
}

func isCommit(piece []byte) bool {
	text, ok := statement(piece)
	return ok && bytes.EqualFold(text, []byte("COMMIT"))
}

func isWrite(piece []byte) bool {
	text, ok := statement(piece)
	if !ok {
		return false
	}
	verb, _, _ := bytes.Cut(text, []byte(" "))
	for _, write := range []string{"INSERT", "UPDATE", "DELETE", "REPLACE"} {
		if bytes.EqualFold(verb, []byte(write)) {
			return true
		}
	}
	return false
}

// errPacket returns the packet with which MariaDB answers a statement that fails.
func errPacket(code uint16, state, text string) []byte {
	payload := binary.LittleEndian.AppendUint16([]byte{0xff}, code)
	payload = append(payload, "#"+state+text...)
	return append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, 1}, payload...)
}

// refuseWrites makes all writes of all processes fail for some seconds.
func refuseWrites(ctx context.Context, t *trial, answer []byte) error {
	for _, i := range t.instances {
		i.MariaDB.Answer(func(piece []byte) []byte {
			if isWrite(piece) {
				return answer
			}
			return nil
		})
	}
	return t.wait(ctx, t.between(6*time.Second, 10*time.Second))
}

// deadlocks locks rows that adsync writes, in the opposite order. Its transactions are so heavy that MariaDB rolls
// back adsync's.
func deadlocks(ctx context.Context, t *trial) error {
	db, err := sql.Open("mysql", t.stack.DSN()+t.database("data"))
	if err != nil {
		return err
	}
	defer db.Close()
	// A transaction's weight is the number of rows that it changed.
	if _, err := db.ExecContext(ctx,
		"CREATE TABLE chaos_ballast (id INT PRIMARY KEY AUTO_INCREMENT, filler INT NOT NULL) ENGINE=InnoDB"); err != nil {
		return err
	}
	before, err := deadlockCount(ctx, db)
	if err != nil {
		return err
	}
	for until := time.Now().Add(t.between(10*time.Second, 13*time.Second)); time.Now().Before(until) && ctx.Err() == nil; {
		if err := t.deadlock(ctx, db); err != nil {
			t.log("a transaction of the storm lost: %v", err)
		}
	}
	after, err := deadlockCount(ctx, db)
	t.strike("deadlocks", after-before)
	_, dropErr := db.ExecContext(ctx, "DROP TABLE chaos_ballast")
	return errors.Join(err, dropErr)
}

func deadlockCount(ctx context.Context, db *sql.DB) (n int, err error) {
	var name string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'").Scan(&name, &n)
	return n, err
}

// deadlock takes the locks of an outcome's transaction in reverse: runs, then due rows, then subtasks.
func (t *trial) deadlock(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var newest int64
	if err := db.QueryRowContext(ctx,
		"SELECT COALESCE(MAX(id), 0) FROM run WHERE state = 'running'").Scan(&newest); err != nil || newest == 0 {
		return err
	}
	for _, query := range []string{
		"INSERT INTO chaos_ballast (filler) SELECT seq FROM seq_1_to_2000",
		fmt.Sprintf("SELECT COUNT(*) FROM (SELECT id FROM run WHERE id <= %d ORDER BY id DESC LIMIT 20 FOR UPDATE) r",
			newest),
		"DO SLEEP(0.05)",
		fmt.Sprintf(
			"SELECT COUNT(*) FROM (SELECT account_id FROM %s WHERE run_id = %d ORDER BY account_id DESC FOR UPDATE) s",
			ledger.LogTable(newest), newest),
		"DO SLEEP(0.02)",
	} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}
