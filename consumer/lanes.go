package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/store/settings"
)

// systemMedia is the media of work that belongs to no platform.
const systemMedia = "system"

// reloadTimeout bounds one reload of the lanes.
const reloadTimeout = 30 * time.Second

// poolMax is the largest pool_size and workers_max that is not refused as a typing error.
const poolMax = 100_000

// laneName identifies a lane of a platform.
type laneName struct{ media, lane string }

func (n laneName) String() string { return n.media + ":" + n.lane }

func (c *Consumer) reloadForEver(ctx context.Context) {
	ticker := time.NewTicker(c.cfg.PoolReload)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = c.reload(ctx) // It has noted and logged what went wrong.
		}
	}
}

// reload opens, resizes and closes pools as the table lane configures. An error of one lane affects no other.
func (c *Consumer) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	lanes, err := c.deps.Store.Lanes(ctx)
	if err == nil {
		err = c.reconcile(ctx, lanes)
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return err // The consumer stops.
	}
	c.mu.Lock()
	was := c.problem
	c.problem = err
	c.mu.Unlock()
	switch {
	case err != nil:
		c.metrics.reloadErrors.Inc()
		if was == nil || was.Error() != err.Error() { // One line per cause, not one per reload.
			c.log.Error("some lanes do not match the table lane; retrying", "err", err, "pause", c.cfg.PoolReload)
		}
	case was != nil:
		c.log.Info("all lanes match the table lane again")
	}
	return err
}

func (c *Consumer) reconcile(ctx context.Context, rows []settings.Lane) error {
	want, errs := c.wanted(rows)
	var closing sync.WaitGroup
	missing := map[laneName]settings.Lane{}
	maps.Copy(missing, want)
	for _, p := range c.open() {
		row, wanted := want[p.name]
		delete(missing, p.name)
		if wanted {
			p.resize(ctx, row)
			p.rank(row)
			continue
		}
		c.log.Info("lane closed", "media", p.name.media, "lane", p.name.lane)
		c.mu.Lock()
		delete(c.pools, p.name)
		c.mu.Unlock()
		closing.Go(func() {
			p.leave(ctx)
			p.release()
		})
	}
	for _, name := range slices.SortedFunc(maps.Keys(missing),
		func(a, b laneName) int { return strings.Compare(a.String(), b.String()) }) {
		row := missing[name]
		if err := c.openPool(ctx, name, row); err != nil {
			errs = append(errs, fmt.Errorf("open %s: %w", name, err))
		}
	}
	closing.Wait()
	return errors.Join(errs...)
}

// wanted returns the lanes to work on, each with the row that holds its size. A size of 0 closes a lane.
func (c *Consumer) wanted(rows []settings.Lane) (map[laneName]settings.Lane, []error) {
	want := map[laneName]settings.Lane{}
	var errs []error
	medias := c.platforms()
	// Rows for all media come first: a row that names its media overrides them.
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b settings.Lane) int {
		return boolInt(a.Media != settings.AnyMedia) - boolInt(b.Media != settings.AnyMedia)
	})
	for _, row := range rows {
		if err := checkLane(row); err != nil {
			errs = append(errs, fmt.Errorf("lane %s:%s: %w", row.Media, row.Name, err))
			good := c.good[laneName{row.Media, row.Name}] // If there is none, the lane is closed.
			good.Media, good.Name = row.Media, row.Name
			row = good
		} else {
			c.good[laneName{row.Media, row.Name}] = row
		}
		for _, m := range medias {
			if row.Media == settings.AnyMedia || row.Media == m {
				want[laneName{m, row.Name}] = row
			}
		}
	}
	maps.DeleteFunc(want, func(name laneName, row settings.Lane) bool {
		return row.PoolSize == 0 || !c.cfg.subscribed(name.media, name.lane)
	})
	return want, errs
}

// checkLane returns which number of a lane's row cannot be used.
func checkLane(row settings.Lane) error {
	switch {
	case row.PoolSize < 0 || row.PoolSize > poolMax:
		return fmt.Errorf("pool_size %d is not in 0 to %d", row.PoolSize, poolMax)
	case row.WorkersMax < 0 || row.WorkersMax > poolMax:
		return fmt.Errorf("workers_max %d is not in 0 to %d", row.WorkersMax, poolMax)
	}
	return nil
}

// platforms returns the platforms that have handlers, sorted.
func (c *Consumer) platforms() []string {
	set := map[string]bool{systemMedia: true}
	for _, handler := range c.deps.Registry.Names() {
		name, _, _ := strings.Cut(handler, ".")
		set[name] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// openPool starts the work on a lane.
func (c *Consumer) openPool(ctx context.Context, name laneName, row settings.Lane) error {
	if err := c.kafka.ensure(ctx, map[laneName]int{name: row.Partitions}); err != nil {
		return err
	}
	p, err := newPool(c, name, row)
	if err != nil {
		return err
	}
	if err := p.join(ctx, row.WorkersMax); err != nil {
		p.release()
		return err
	}
	c.mu.Lock()
	c.pools[name] = p
	c.mu.Unlock()
	c.log.Info("lane opened", "media", name.media, "lane", name.lane, "pool_size", row.PoolSize)
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
