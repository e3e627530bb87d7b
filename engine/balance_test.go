package engine

import (
	"crypto/des"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/schedule"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/pull"
)

const (
	balanceAccounts = 40_000 // of all platforms
	// balanceMax is how much more than the mean the busiest shard may have.
	balanceMax = 1.3
)

// hashes are the hash functions of proxies.
var hashes = map[string]func(key int64, shards int) int{
	"modulo": func(key int64, shards int) int { return int(key % int64(shards)) },
	"crc32":  func(key int64, shards int) int { return int(crc32.ChecksumIEEE(bytesOf(key)) % uint32(shards)) },
	// Its shards are ranges of an encryption of the key.
	"hash of Vitess": func(key int64, shards int) int {
		var out [8]byte
		vitessCipher.Encrypt(out[:], bytesOf(key))
		return int(binary.BigEndian.Uint64(out[:]) / (1 << 63 / uint64(shards) * 2))
	},
}

var vitessCipher, _ = des.NewTripleDESCipher(make([]byte, 24))

func bytesOf(key int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(key)) }

// This is the log of one day of the default tasks, for 40,000 accounts. A run's rows are all on one shard, and there
// are some thousands of runs.
func TestShards_OfADaysLogAreEven(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	runs := map[int64]int{} // rows per run
	for _, row := range DefaultTasks(Platforms()) {
		parts := partsOf(t, row.Handler, row.Params, midnight)
		if parts == 0 {
			continue // of the system, or of logins: a row or two
		}
		for _, at := range ticksOf(t, row.Cron, row.Timezone, row.Name, midnight) {
			runs[task.NewRunID(at)] = parts * balanceAccounts / len(Platforms())
		}
	}
	require.Greater(t, len(runs), 1000)
	requireEven(t, runs)
}

// These are the rows of reports and of coverage. One account in a hundred has a hundred times as many as the others.
func TestShards_OfAccountsAreEven(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	rows := map[int64]int{}
	for id := range int64(balanceAccounts) {
		rows[id+1] = 1 + random.IntN(10)
		if random.IntN(100) == 0 {
			rows[id+1] *= 100
		}
	}
	requireEven(t, rows)
	coverage := map[int64]int{}
	for id := range rows {
		coverage[id] = 8
	}
	requireEven(t, coverage)
}

func ticksOf(t *testing.T, cron, zone, name string, from time.Time) []time.Time {
	t.Helper()
	s, err := schedule.Parse(cron, zone, name)
	require.NoError(t, err)
	var all []time.Time
	for at := s.Next(from); !at.IsZero() && at.Before(from.Add(24*time.Hour)); at = s.Next(at) {
		all = append(all, at)
	}
	return all
}

// partsOf returns how many subtasks of an account a run of a handler has; 0 if the handler does not pull accounts.
func partsOf(t *testing.T, handler, params string, at time.Time) int {
	t.Helper()
	for _, platform := range Platforms() {
		deps := pull.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
		for _, h := range pull.Handlers(platform, deps) {
			if h.Name != handler || h.Target != media.Accounts {
				continue
			}
			parts, err := h.Parts(media.Plan{PlannedAt: at, Zone: time.FixedZone("UTC+8", 8*60*60),
				Params: json.RawMessage(params)})
			require.NoError(t, err, handler)
			return len(parts)
		}
	}
	return 0
}

func requireEven(t *testing.T, rows map[int64]int) {
	t.Helper()
	total := 0
	for _, n := range rows {
		total += n
	}
	for name, hash := range hashes {
		for _, shards := range []int{2, 4, 8} {
			on := make([]int, shards)
			for key, n := range rows {
				on[hash(key, shards)] += n
			}
			busiest := float64(slices.Max(on)) * float64(shards) / float64(total)
			t.Logf("%s, %d shards: %d rows of %d keys, the busiest has %.3f times the mean", name, shards, total, len(rows),
				busiest)
			require.LessOrEqual(t, busiest, balanceMax, "%s, %d shards: %v", name, shards, on)
		}
	}
}
