package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/publishing"
	"adsync/publish"
	"adsync/test/services/local"
)

const (
	// large is the day of the large files.
	large = day.Day("2026-11-20")
	// smallRows are the rows of a small file, of 57 bytes each. Each file is about a day of its own, before large.
	smallRows  = 350
	rowsAtOnce = 500_000
	depot      = "depot"
)

// The queries. The texts of a row are those of a campaign and its link; the server computes them, so that the table
// needs less room than the file.
const (
	figures  = "cost, impressions, clicks, downloads, installs, activations, registrations, conversions, pays, pay_amount"
	csvQuery = "SELECT day, account_id, object_id, media, currency, " + figures + ", " +
		"CONCAT('campaign ', object_id, ' of the account ', account_id, ', the autumn offers of all games, group ', " +
		"account_id % 97) AS campaign, CONCAT('https://ads.example.com/accounts/', account_id, '/campaigns/', object_id, " +
		"'/creatives?from=2026-11-20&to=2026-11-20&columns=cost,impressions,clicks,installs&source=report" +
		"&language=zh-Hans&view=table') AS link " +
		"FROM report_daily_adgroup WHERE day = :day ORDER BY day, account_id, level, object_id"
	xlsxQuery = "SELECT day, account_id, object_id, media, currency, " + figures + " FROM report_daily_adgroup " +
		"WHERE day = :day AND account_id <= %d ORDER BY day, account_id, level, object_id"
	smallQuery = "SELECT day, account_id, object_id, media, cost FROM report_daily_adgroup WHERE day = :day " +
		"ORDER BY day, account_id, level, object_id"
	// perAccount are the rows of an account.
	perAccount = 100
)

// The subscriptions.
const (
	csvFile   = "csv"
	xlsxFile  = "xlsx"
	smallFile = "small"
)

// deployment is a store on its own server, with a directory for delivered files.
type deployment struct {
	o       options
	say     func(format string, args ...any)
	ports   *local.Ports
	servers []*local.Server
	mariadb *local.MariaDB
	store   *store.Store
}

func (d *deployment) shelf() string { return filepath.Join(d.o.dir, "shelf") }

func (d *deployment) start(ctx context.Context, stderr io.Writer) error {
	if err := os.MkdirAll(d.shelf(), 0o755); err != nil {
		return err
	}
	d.mariadb = &local.MariaDB{Settings: []string{"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M"}}
	d.ports = local.NewPorts()
	var err error
	if d.servers, err = local.LaunchAll(ctx, d.o.dir, d.ports, stderr, d.mariadb); err != nil {
		return err
	}
	if err := d.mariadb.CreateDatabases(ctx, "config", "data"); err != nil {
		return err
	}
	if d.store, err = openStore(ctx, d.mariadb.DSN()); err != nil {
		return err
	}
	if err := d.store.MigrateUp(ctx); err != nil {
		return err
	}
	if err := d.fill(ctx); err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	return d.subscribe(ctx)
}

// openStore opens the store on a server.
func openStore(ctx context.Context, dsn string) (*store.Store, error) {
	cfg := sqldb.DefaultConfig()
	cfg.Config.Driver, cfg.Config.Writer = sqldb.MySQL, secret.NewText(dsn+"config")
	cfg.Data.Driver, cfg.Data.Writer = sqldb.MySQL, secret.NewText(dsn+"data")
	return store.Open(ctx, cfg, slog.New(slog.DiscardHandler))
}

// fill makes the rows. The partitions of the new table begin with the present day, and all rows are of earlier days.
func (d *deployment) fill(ctx context.Context) error {
	db := d.store.Data.Writer(ctx)
	for _, change := range []string{"PARTITION BY RANGE COLUMNS (day) (PARTITION later VALUES LESS THAN (MAXVALUE))",
		"DROP KEY updated_at", "DROP KEY level_account"} { // No query here uses these keys, and they need room.
		if err := db.Exec("ALTER TABLE report_daily " + change).Error; err != nil {
			return err
		}
	}
	// A row has an account of 7 digits, an object of 16, and ten figures of 4 to 9 digits.
	const insert = "INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, version, " +
		"updated_at, " + figures + ") SELECT %s, %s, 'adgroup', CONCAT('17000', LPAD(seq, 11, '0')), 'oceanengine', " +
		"'CNY', 'Asia/Shanghai', 1, '2026-11-21 00:00:00', 100000000 + seq, 100000 + seq %% 900000, 1000 + seq %% 9000, " +
		"1000 + seq %% 7000, 1000 + seq %% 5000, 1000 + seq %% 4999, 1000 + seq %% 4001, 1000 + seq %% 3001, " +
		"1000 + seq %% 2003, 100000000 + seq * 7 %% 900000000 FROM seq_%d_to_%d"
	for from := 0; from < d.o.csvRows; from += rowsAtOnce {
		account := fmt.Sprintf("%d + seq DIV %d", firstAccount, perAccount)
		to := min(from+rowsAtOnce, d.o.csvRows) - 1
		if err := db.Exec(fmt.Sprintf(insert, "'"+string(large)+"'", account, from, to)).Error; err != nil {
			return err
		}
	}
	for from := 0; from < d.o.small*smallRows; from += rowsAtOnce {
		on := fmt.Sprintf("DATE_SUB('%s', INTERVAL 1 + seq DIV %d DAY)", large, smallRows)
		to := min(from+rowsAtOnce, d.o.small*smallRows) - 1
		if err := db.Exec(fmt.Sprintf(insert, on, fmt.Sprint(firstAccount), from, to)).Error; err != nil {
			return err
		}
	}
	d.say("the tables have %d rows of the large files and %d of the small ones", d.o.csvRows, d.o.small*smallRows)
	return nil
}

// firstAccount is the lowest id of an account.
const firstAccount = 1_000_000

// subscribe writes the destination and the subscriptions.
func (d *deployment) subscribe(ctx context.Context) error {
	config := d.store.Config.Writer(ctx)
	err := config.Save(&publishing.Destination{Name: depot, Kind: "dir", Address: d.shelf(), Enabled: true,
		Options: `{"connections": 16}`}).Error
	if err != nil {
		return err
	}
	for _, of := range []struct{ name, format, query string }{
		{csvFile, "csv", csvQuery},
		{xlsxFile, "xlsx", fmt.Sprintf(xlsxQuery, firstAccount+d.o.xlsxRows/perAccount-1)},
		{smallFile, "csv", smallQuery},
	} {
		row := publish.Defaults(of.name)
		if row.Source, err = publish.SourceText(of.query); err != nil {
			return err
		}
		row.Format, row.Path, row.Destination = `{"format": "`+of.format+`"}`, "{subscription}/{day}{ext}", depot
		row.Cron, row.Timezone, row.Lane = "0 9 * * *", "Asia/Shanghai", publish.LargeLane
		row.Since = large.Start(time.UTC)
		if _, err := publish.Check(row); err != nil {
			return fmt.Errorf("subscription %s: %w", of.name, err)
		}
		if err := config.Save(&row).Error; err != nil {
			return err
		}
	}
	return nil
}

// forget removes all files.
func (d *deployment) forget(ctx context.Context) error {
	entries, err := os.ReadDir(d.shelf())
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(d.shelf(), e.Name())))
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(d.o.dir, "parts")),
		d.store.Data.Writer(ctx).Exec("DELETE FROM publication").Error)
}

func (d *deployment) close() error {
	var err error
	if d.store != nil {
		err = d.store.Close()
	}
	err = errors.Join(err, local.KillAll(d.servers))
	if d.ports != nil {
		d.ports.Release()
	}
	return err
}

// statement returns a subscription's query for a day, as the server gets it.
func statement(query string, on day.Day) string {
	return strings.ReplaceAll(query, ":day", "'"+string(on)+"'")
}

// text returns a value as JSON.
func text(value any) string {
	b, _ := json.Marshal(value)
	return string(b)
}
