package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/engine"
	"adsync/test/rig"
	"adsync/test/services/local"
)

const (
	// patience is how long a process may take until it is ready, and a server until it stops.
	patience = 2 * time.Minute
	// roundTime is how long a round of all tasks may take.
	roundTime = time.Hour
	// readTime is how long the truth of all accounts may take.
	readTime = 10 * time.Minute
)

// importantLate is when the important lane is late: under limits of 1.5 times the demand each of its ticks takes 80 s.
const importantLate = 3 * time.Minute

// arrivalSpread is for cores that are used up, on which the simulator itself reads a call late. With 200 ms 14 of
// 199,062 calls were refused, all within three seconds in which many statements took half a second.
const arrivalSpread = 500 * time.Millisecond

// databaseSettings make the database as large as its data; the rest is as shipped, with a sync at each commit.
var databaseSettings = []string{"--innodb-buffer-pool-size=4G", "--innodb-log-file-size=1G"}

// deployment is a running adsync on its own servers and world.
type deployment struct {
	o       options
	ports   *local.Ports
	mariadb *local.MariaDB
	kafka   *local.Kafka
	redis   *local.Redis
	servers []*local.Server

	world       string // http://host:port
	api         string // the producer's
	settings    map[string]any
	processes   map[string]*local.Process // without the servers
	db          *sql.DB                   // the data database
	store       *store.Store
	initialised int
	accounts    map[int64]account // the active ones
}

// account is an active account.
type account struct {
	media string
	zone  *time.Location
	spend float64 // of the last 7 days; of another currency as it is
}

// deploy starts everything with the schedule off. Close the deployment also after an error.
func deploy(ctx context.Context, o options, stderr io.Writer) (*deployment, error) {
	d := &deployment{
		o: o, ports: local.NewPorts(), mariadb: &local.MariaDB{Settings: databaseSettings}, kafka: &local.Kafka{},
		redis:     &local.Redis{},
		processes: map[string]*local.Process{},
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return d, err
	}
	var err error
	if d.o.program == "" {
		if d.o.program, err = rig.Build(ctx, o.dir, "timetzdata"); err != nil {
			return d, err
		}
	}
	if d.servers, err = local.LaunchAll(ctx, d.o.dir, d.ports, stderr, d.kafka, d.mariadb, d.redis); err != nil {
		return d, err
	}
	if err := d.startWorld(ctx); err != nil {
		return d, err
	}
	if err := d.prepare(ctx); err != nil {
		return d, err
	}
	if err := d.startProducer(ctx, false); err != nil {
		return d, err
	}
	for i := range o.consumers {
		if _, err := d.start(ctx, fmt.Sprintf("consumer %d", i+1), "consumer", nil); err != nil {
			return d, err
		}
	}
	return d, nil
}

// generous is by how much the platforms' limits are raised until the demand is known.
const generous = 100

func (d *deployment) startWorld(ctx context.Context) error {
	port, err := d.ports.Take()
	if err != nil {
		return err
	}
	address := local.Loopback(port)
	cmd := exec.Command(d.o.program, "simulate", "--listen", address, "--accounts", strconv.Itoa(d.o.accounts),
		"--seed", strconv.FormatInt(d.o.seed, 10), "--active", strconv.Itoa(d.o.active))
	cmd.Env = []string{"ADSYNC_LOG_FORMAT=json"}
	d.world = "http://" + address
	p, err := local.StartLogged("simulator", filepath.Join(d.o.dir, "simulator.log"), cmd)
	if err != nil {
		return err
	}
	d.processes["simulator"] = p
	err = local.AwaitReady(ctx, "simulator", func(ctx context.Context) error {
		_, _, err := rig.Get(ctx, d.world+"/_sim/clock")
		return err
	}, p.Exited())
	if err != nil {
		return err
	}
	world, err := d.worldLimits(ctx)
	if err != nil {
		return err
	}
	for i := range world.Rules {
		world.Rules[i].Limit *= generous
	}
	return d.setWorldLimits(ctx, world.Rules)
}

// prepare creates the databases, binds the accounts and marks those without spend as inactive.
func (d *deployment) prepare(ctx context.Context) error {
	if err := d.mariadb.CreateDatabases(ctx, "config", "data"); err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	d.settings = map[string]any{
		"secret": map[string]any{"keys": []any{map[string]any{"id": "k1", "key": base64.StdEncoding.EncodeToString(key)}}},
		"store": map[string]any{
			"config": map[string]any{"driver": sqldb.MySQL, "writer": d.mariadb.DSN() + "config"},
			"data":   map[string]any{"driver": sqldb.MySQL, "writer": d.mariadb.DSN() + "data"},
		},
		"broker": map[string]any{"brokers": []string{d.kafka.Addr()}, "partitions": 6, "replication": 1, "min_insync": 1,
			"span": d.o.pool},
		"redis":     map[string]any{"addrs": []string{d.redis.Addr()}},
		"ratelimit": map[string]any{"members": d.o.consumers, "arrival_spread": arrivalSpread.String()},
	}
	platforms, err := rig.Install(ctx, d.o.program, filepath.Join(d.o.dir, "admin.yaml"), d.world, d.settings)
	if err != nil {
		return err
	}
	maps.Copy(d.settings, platforms)
	at := func(of string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.MySQL, Writer: secret.NewText(d.mariadb.DSN() + of), MaxOpenConns: 8}
	}
	if d.store, err = store.Open(ctx, sqldb.Config{Config: at("config"), Data: at("data")},
		slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if d.db, err = sql.Open("mysql", d.mariadb.DSN()+"data?parseTime=true"); err != nil {
		return err
	}
	// As docs/tasks.md advises for so many accounts.
	const lanes = "UPDATE lane SET pool_size = ?, late_seconds = CASE name WHEN 'important' THEN ? ELSE 0 END"
	if err := d.store.Config.Writer(ctx).Exec(lanes, d.o.pool, importantLate.Seconds()).Error; err != nil {
		return err
	}
	return d.readAccounts(ctx)
}

// start starts a process of a role, waits until it works and returns the address of its API.
func (d *deployment) start(ctx context.Context, name, role string, more map[string]any) (string, error) {
	port, err := d.ports.Take()
	if err != nil {
		return "", err
	}
	file := filepath.Join(d.o.dir, name+".yaml")
	if err := rig.WriteSettings(file, d.settings, more,
		map[string]any{"api": map[string]any{"listen": local.Loopback(port)}}); err != nil {
		return "", err
	}
	cmd := exec.Command(d.o.program, "serve", "--role", role, "--config", file)
	cmd.Env = []string{"ADSYNC_LOG_FORMAT=json"}
	p, err := local.StartLogged(name, filepath.Join(d.o.dir, name+".log"), cmd)
	if err != nil {
		return "", err
	}
	d.processes[name] = p
	address := "http://" + local.Loopback(port)
	return address, rig.Await(ctx, patience, name+" is ready", func(ctx context.Context) (bool, error) {
		status, body, err := rig.Get(ctx, address+"/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("it answers %d: %s", status, body)
		}
		return err == nil, err
	})
}

// startProducer starts the producer, again if it runs, with or without the tasks' crons.
func (d *deployment) startProducer(ctx context.Context, crons bool) error {
	if p := d.processes["producer"]; p != nil {
		if err := p.Stop(patience); err != nil {
			return err
		}
	}
	address, err := d.start(ctx, "producer", "producer", map[string]any{"producer": map[string]any{"schedule": crons}})
	d.api = address + "/api/v1"
	return err
}

// alive returns an error if a process has ended.
func (d *deployment) alive() error {
	for name, p := range d.processes {
		select {
		case <-p.Exited():
			return fmt.Errorf("the %s has ended: %w", name, p.Err())
		default:
		}
	}
	return nil
}

// readAccounts reads from the platforms which accounts spent in the last days, and marks the others as inactive.
func (d *deployment) readAccounts(ctx context.Context) error {
	if err := d.store.Config.Writer(ctx).Raw(
		"SELECT COUNT(*) FROM media_account WHERE initialised_at IS NOT NULL").Row().Scan(&d.initialised); err != nil {
		return err
	}
	spend := map[string]map[string]float64{}
	for _, media := range engine.PlatformNames() {
		var err error
		if spend[media], err = d.spend(ctx, media); err != nil {
			return err
		}
	}
	rows, err := d.store.Config.Writer(ctx).Raw("SELECT id, media, external_id, timezone FROM media_account").Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	d.accounts = map[int64]account{}
	var quiet []int64
	for rows.Next() {
		var id int64
		var media, external, zone string
		if err := rows.Scan(&id, &media, &external, &zone); err != nil {
			return err
		}
		location, err := schedule.Zone(zone)
		if err != nil {
			return err
		}
		if cost := spend[media][external]; cost > 0 {
			d.accounts[id] = account{media: media, zone: location, spend: cost}
		} else {
			quiet = append(quiet, id)
		}
	}
	if err := rows.Err(); err != nil || len(quiet) == 0 {
		return err
	}
	return d.store.Config.Writer(ctx).Exec(
		"UPDATE media_account SET tier = ?, tier_reason = 'quiet', tier_since = UTC_TIMESTAMP(3) WHERE id IN ?",
		settings.TierInactive, quiet).Error
}

// spend returns what a platform's accounts spent in the last 7 days, by the platform's ids.
func (d *deployment) spend(ctx context.Context, media string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	today := day.Of(time.Now(), time.UTC)
	url := fmt.Sprintf("%s/_sim/truth?media=%s&kind=report_daily&level=account&from=%s&to=%s", d.world, media,
		today.Add(-6), today)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	spend := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var row struct {
			Account string             `json:"account"`
			Metrics map[string]float64 `json:"metrics"`
			Count   *int               `json:"count"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("read the truth of %s: %w", media, err)
		}
		if row.Count != nil {
			return spend, nil
		}
		spend[row.Account] += row.Metrics["cost"]
	}
	return nil, fmt.Errorf("the truth of %s was cut off: %w", media, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

// close ends all processes and servers.
func (d *deployment) close() error {
	var errs []error
	for _, p := range d.processes {
		errs = append(errs, p.Stop(0))
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	for _, s := range d.servers {
		errs = append(errs, s.Kill())
	}
	d.ports.Release()
	return errors.Join(errs...)
}
