package watch

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.yaml.in/yaml/v3"
)

// services are a Kafka and a Redis that can stop and start while adsync runs, as the embedded ones cannot.
type services struct {
	p         *plant
	kafka     *kfake.Cluster
	kafkaPort int
	kafkaData string
	redis     *miniredis.Miniredis
	settings  map[string]any
	platforms map[string]platform
}

// platform is a platform as the simulator reports it.
type platform struct {
	BaseURLPath      string `json:"base_url_path"`
	AuthoriseURLPath string `json:"authorise_url_path"`
	Apps             []struct {
		AppID  string `json:"app_id"`
		Logins []struct{ Login string }
	}
}

// beginOnServices starts a world outside of the program, and the program on services outside of it.
func beginOnServices(p *plant) {
	p.t.Helper()
	port := freePort(p.t)
	p.sim = fmt.Sprintf("http://127.0.0.1:%d", port)
	start(p.t, "simulator", nil, adsync, append([]string{"simulate", "--listen", fmt.Sprintf("127.0.0.1:%d", port)},
		p.world()...)...)
	s := &services{p: p, kafkaPort: freePort(p.t), kafkaData: p.t.TempDir()}
	p.services = s
	p.eventually("the simulator answers", func(ctx context.Context) (bool, error) {
		err := ask(ctx, http.MethodGet, p.url("/_sim/credentials"), nil, &s.platforms)
		return err == nil, err
	})
	s.startKafka()
	p.t.Cleanup(func() { s.kafka.Close() })
	s.redis = miniredis.NewMiniRedis()
	require.NoError(p.t, s.redis.Start())
	p.t.Cleanup(s.redis.Close)
	go s.age(p.t.Context())
	s.settings = map[string]any{
		"broker": map[string]any{"brokers": []string{fmt.Sprintf("127.0.0.1:%d", s.kafkaPort)}, "replication": 1,
			"min_insync": 1, "partitions": 6},
		"redis": map[string]any{"addrs": []string{s.redis.Addr()}},
	}
	p.args = []string{"--simulator", p.sim, "--config", s.file("servers.yaml", s.settings)}
	begin(p)
}

// file writes settings to a file.
func (s *services) file(name string, settings map[string]any) string {
	s.p.t.Helper()
	text, err := yaml.Marshal(settings)
	require.NoError(s.p.t, err)
	path := filepath.Join(s.p.t.TempDir(), name)
	require.NoError(s.p.t, os.WriteFile(path, text, 0o600))
	return path
}

// startKafka starts Kafka with its earlier data.
func (s *services) startKafka() {
	s.p.t.Helper()
	var err error
	s.kafka, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(s.kafkaPort), kfake.DataDir(s.kafkaData),
		kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1", "min.insync.replicas": "1"}))
	require.NoError(s.p.t, err)
}

// age expires keys in Redis by advancing its time.
func (s *services) age(ctx context.Context) {
	const step = 200 * time.Millisecond
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.redis.FastForward(step)
		}
	}
}

func redisIsAway(p *plant) func() {
	p.services.redis.Close()
	p.order(nil, "tencent.balance")
	return func() {
		require.NoError(p.t, p.services.redis.Restart())
		p.order(nil, "tencent.balance")
	}
}

// loginDies makes a platform forget its logins.
func loginDies(p *plant) func() {
	p.fault(map[string]any{"kind": "token_death", "media": oceanengine, "token": "pair"})
	p.order(nil, "oceanengine.balance")
	return func() { p.services.authorise(oceanengine) }
}

// refreshTokenAges makes the logins of a platform as old as if they had been authorised weeks ago.
func refreshTokenAges(p *plant) func() {
	soon := p.now().AddDate(0, 0, 3).UTC().Format("2006-01-02 15:04:05.000")
	p.exec("config", "UPDATE media_token SET refresh_expires_at = ? WHERE media = 'tencent'", soon)
	return func() { p.services.authorise(tencent) }
}

// authorise authorises each login of a platform as a person does with `adsync bind`.
func (s *services) authorise(media string) {
	p := s.p
	p.t.Helper()
	key, err := os.ReadFile(filepath.Join(p.data, "secret.key"))
	require.NoError(p.t, err)
	database := func(name string) map[string]any {
		return map[string]any{"driver": "sqlite", "writer": filepath.Join(p.data, name+".db")}
	}
	of := s.platforms[media]
	settings := s.file("bind.yaml", map[string]any{
		"store":  map[string]any{"config": database("config"), "data": database("data")},
		"secret": map[string]any{"keys": []any{map[string]any{"id": "standalone", "key": strings.TrimSpace(string(key))}}},
		"redis":  s.settings["redis"],
		"media": map[string]any{
			"base_url":      map[string]any{media: p.sim + of.BaseURLPath},
			"authorise_url": map[string]any{media: p.sim + of.AuthoriseURLPath},
		},
	})
	for _, app := range of.Apps {
		for _, login := range app.Logins {
			code := p.send(http.MethodPost, "/_sim/codes", map[string]any{"media": media, "login": login.Login})["code"].(string)
			bind := exec.CommandContext(p.t.Context(), adsync, "bind", media, "--config", settings, "--app-id", app.AppID,
				"--redirect-uri", "https://adsync.example.com/oauth/"+media+"/callback", "--code")
			bind.Stdin = strings.NewReader(code + "\n")
			output, err := bind.CombinedOutput()
			require.NoError(p.t, err, "%s", output)
		}
	}
}

// kafkaIsAway stops Kafka while a message to an application waits, since an hour ago. It is sent when Kafka is back.
func kafkaIsAway(p *plant) func() {
	p.services.kafka.Close()
	slot := fnv.New32a()
	_, _ = slot.Write([]byte("1/seen"))
	p.exec("data", "INSERT INTO outcome_notice (slot, task_id, account_id, part, seq, notice, written_at)"+
		` VALUES (?, 1, 0, 'seen', 1, '{"application": "shop"}', ?)`, slot.Sum32()%8, sqlTime(time.Now().Add(-time.Hour)))
	return p.services.startKafka
}

// messagesAreDeleted makes Kafka delete waiting messages while no consumer runs, as a retention that is too short
// would.
func messagesAreDeleted(p *plant) func() {
	mend := p.fault(map[string]any{"kind": "hang", "media": tencent})
	p.order(nil, "tencent.report_daily.account")
	p.eventually("subtasks are under way", func(ctx context.Context) (bool, error) {
		return p.holds(ctx, `sum(adsync_consumer_pool_running{media="tencent",lane="important"}) >= 3`)
	})
	p.program.kill(p.t)
	p.services.deleteAll()
	mend()
	p.start()
	return none
}

// deleteAll deletes the messages of all topics.
func (s *services) deleteAll() {
	t := s.p.t
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.ListenAddrs()...))
	require.NoError(t, err)
	defer client.Close()
	topics := kmsg.NewPtrMetadataRequest()
	known, err := topics.RequestWith(t.Context(), client)
	require.NoError(t, err)
	request := kmsg.NewPtrDeleteRecordsRequest()
	for _, topic := range known.Topics {
		deletion := kmsg.NewDeleteRecordsRequestTopic()
		deletion.Topic = *topic.Topic
		for _, partition := range topic.Partitions {
			upTo := kmsg.NewDeleteRecordsRequestTopicPartition()
			upTo.Partition, upTo.Offset = partition.Partition, -1 // all there are
			deletion.Partitions = append(deletion.Partitions, upTo)
		}
		request.Topics = append(request.Topics, deletion)
	}
	deleted, err := request.RequestWith(t.Context(), client)
	require.NoError(t, err)
	require.NotEmpty(t, deleted.Topics)
}
