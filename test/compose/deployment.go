package compose

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"adsync/client"
	"adsync/test/rig"
	"adsync/test/services/local"
)

const (
	// patience is how long anything may take: much more than on an idle machine.
	patience = 2 * time.Minute
	// stopGrace is how long a process may take to stop; the sum must stay below what test/services gives its command.
	stopGrace = 8 * time.Second
)

// Options define a deployment.
type Options struct {
	Root       string // of the repository
	Dir        string // for logs, the simulated world and what Prometheus keeps
	Program    string // adsync
	Prometheus string // the program; "": none is started
	// Kafka, MySQL and Redis are where the servers are, as test/services tells them.
	Kafka, MySQL, Redis string
	// Name is part of the names of the databases, topics and keys, which must be new.
	Name     string
	Accounts int
	// OwnPorts takes the ports of docker-compose.yml where nothing listens on them yet.
	OwnPorts bool
	// Environ replaces variables of the file.
	Environ map[string]string
	// Hurry makes Prometheus scrape each second. Alerts then fire without waiting and use ranges of 15 s, with these
	// replacements in their expressions.
	Hurry map[string]string
	// Say receives reports of progress.
	Say func(format string, args ...any)
}

// Deployment is a running deployment.
type Deployment struct {
	Options
	Producers  []string // addresses of their APIs
	Consumers  []string
	Queues     []string // addresses of the job queues' health
	metrics    []string // where each of them serves its metrics, as host:port
	World      string   // the simulator's
	Board      string   // Prometheus's
	Token      string   // of an admin of the API
	Config     *sql.DB
	Data       *sql.DB
	file       File
	env        map[string]string // what .env would have
	ports      *local.Ports
	addresses  *strings.Replacer
	environ    map[string]string
	processes  []*local.Process
	names      []string
	root       *sql.DB
	httpClient *http.Client
}

// Up starts everything. Close the deployment also after an error.
func Up(ctx context.Context, o Options) (*Deployment, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	d := &Deployment{
		Options: o, Token: strings.ToLower(rand.Text() + rand.Text()), ports: local.NewPorts(), environ: map[string]string{},
		httpClient: &http.Client{Timeout: 15 * time.Second},
	}
	d.env = map[string]string{"ENCRYPTION_KEY": base64.StdEncoding.EncodeToString(key), "API_TOKEN": d.Token}
	var err error
	if d.file, err = Read(o.Root); err != nil {
		return d, err
	}
	for _, step := range []func(context.Context) error{d.makeDatabases, d.migrate, d.startWorld, d.bind, d.serve, d.ready,
		d.startPrometheus} {
		if err := step(ctx); err != nil {
			return d, err
		}
	}
	return d, nil
}

// database returns the name of one of the two databases.
func (d *Deployment) database(of string) string {
	return strings.ReplaceAll(d.Name, "-", "_") + "_" + of
}

func (d *Deployment) makeDatabases(ctx context.Context) error {
	var err error
	server := strings.TrimSuffix(d.MySQL, "/") + "/"
	if d.root, err = sql.Open("mysql", server); err != nil {
		return err
	}
	for of, into := range map[string]**sql.DB{"config": &d.Config, "data": &d.Data} {
		if _, err := d.root.ExecContext(ctx, "CREATE DATABASE "+d.database(of)+" CHARACTER SET utf8mb4"); err != nil {
			return err
		}
		if *into, err = sql.Open("mysql", server+d.database(of)+"?parseTime=true"); err != nil {
			return err
		}
		d.environ["ADSYNC_STORE_"+strings.ToUpper(of)+"_WRITER"] = server + d.database(of)
	}
	maps.Copy(d.environ, map[string]string{
		"ADSYNC_BROKER_BROKERS": d.Kafka, "ADSYNC_REDIS_ADDRS": d.Redis,
		// The servers may serve others too, and the machine other processes.
		"ADSYNC_BROKER_PREFIX": d.Name, "ADSYNC_BROKER_PARTITIONS": "6", "ADSYNC_REDIS_KEY_PREFIX": d.Name,
		"ADSYNC_LOG_FORMAT": "json",
	})
	maps.Copy(d.environ, d.Environ)
	return nil
}

func (d *Deployment) migrate(ctx context.Context) error {
	output, err := d.run(ctx, "migrate")
	if err == nil {
		d.Say("adsync migrate up: %s", lastLine(output))
	}
	return err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// startWorld starts the simulator.
func (d *Deployment) startWorld(ctx context.Context) error {
	listen, err := d.listen("simulator", 0)
	if err != nil {
		return err
	}
	d.addresses = strings.NewReplacer("0.0.0.0:9090", listen, "/data", filepath.Join(d.Dir, "world"), "--accounts=400",
		"--accounts="+strconv.Itoa(d.Accounts))
	if err := d.start("simulator", "simulator", nil); err != nil {
		return err
	}
	d.World = "http://" + listen
	return d.await(ctx, "the simulator answers", func(ctx context.Context) (bool, error) {
		status, _, err := rig.Get(ctx, d.World+"/_sim/clock")
		return status == http.StatusOK, err
	})
}

// bind makes the simulated accounts those of the deployment.
func (d *Deployment) bind(ctx context.Context) error {
	d.addresses = strings.NewReplacer("http://simulator:9090", d.World)
	output, err := d.run(ctx, "bind")
	if err != nil {
		return err
	}
	done, settings, _ := strings.Cut(output, "with these settings:\n")
	d.Say("adsync bind: %s", strings.SplitN(done, "\n", 2)[0])
	var bound struct {
		Media map[string]map[string]string `yaml:"media"`
	}
	if err := yaml.Unmarshal([]byte(settings), &bound); err != nil {
		return fmt.Errorf("read the settings that bind prints: %w", err)
	}
	for of, urls := range bound.Media {
		text, err := json.Marshal(urls)
		if err != nil {
			return err
		}
		d.environ["ADSYNC_MEDIA_"+strings.ToUpper(of)] = string(text)
	}
	return nil
}

// serve starts the producers and consumers.
func (d *Deployment) serve(context.Context) error {
	for _, service := range slices.Sorted(maps.Keys(d.file.Services)) {
		s := d.file.Services[service]
		if !slices.Contains(s.Command, "serve") {
			continue
		}
		for i := range max(1, s.Deploy.Replicas) {
			listen, err := d.listen(service, i)
			if err != nil {
				return err
			}
			port, err := d.ports.Take()
			if err != nil {
				return err
			}
			d.metrics = append(d.metrics, local.Loopback(port))
			listens := map[string]string{"ADSYNC_API_LISTEN": listen, "ADSYNC_API_METRICS_LISTEN": local.Loopback(port)}
			if service == "jobs" {
				if listen, err = d.listenForJobs(listen, listens); err != nil {
					return err
				}
			}
			if err := d.start(fmt.Sprintf("%s-%d", service, i+1), service, listens); err != nil {
				return err
			}
			switch service {
			case "producer":
				d.Producers = append(d.Producers, "http://"+listen)
			case "jobs":
				d.Queues = append(d.Queues, "http://"+listen)
			default:
				d.Consumers = append(d.Consumers, "http://"+listen)
			}
		}
	}
	return nil
}

// listenForJobs completes where a job queue listens, and returns the address of its health: the file publishes the
// address of its jobs.
func (d *Deployment) listenForJobs(published string, listens map[string]string) (health string, err error) {
	listens["ADSYNC_JOBS_LISTEN"] = published
	for _, variable := range []string{"ADSYNC_JOBS_ADMIN_LISTEN", "ADSYNC_API_LISTEN"} {
		port, err := d.ports.Take()
		if err != nil {
			return "", err
		}
		listens[variable] = local.Loopback(port)
	}
	return listens["ADSYNC_API_LISTEN"], nil
}

func (d *Deployment) ready(ctx context.Context) error {
	for _, address := range slices.Concat(d.Producers, d.Consumers, d.Queues) {
		err := d.await(ctx, address+" is ready", func(ctx context.Context) (bool, error) {
			status, body, err := rig.Get(ctx, address+"/readyz")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("it answers %d: %s", status, body)
			}
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	d.Say("%d producers, %d consumers and %d job queues are ready", len(d.Producers), len(d.Consumers), len(d.Queues))
	return nil
}

// published returns a port that the file publishes on this machine: the first of a range.
var published = regexp.MustCompile(`^127\.0\.0\.1:(\d+)`)

// listen chooses where the nth process of a service listens: on the port that the file publishes, or a spare one.
func (d *Deployment) listen(service string, n int) (string, error) {
	if ports := d.file.Services[service].Ports; d.OwnPorts && len(ports) > 0 {
		if found := published.FindStringSubmatch(ports[0]); found != nil {
			first, err := strconv.Atoi(found[1])
			if err != nil {
				return "", err
			}
			address := local.Loopback(first + n)
			if l, err := net.Listen("tcp", address); err == nil { //nolint:noctx // It is closed at once.
				return address, l.Close()
			}
		}
	}
	port, err := d.ports.Take()
	return local.Loopback(port), err
}

// command returns the command of a service, ready to be started.
func (d *Deployment) command(service string, more map[string]string) *exec.Cmd {
	args := slices.Clone(d.file.Services[service].Command)
	for i := range args {
		if d.addresses != nil {
			args[i] = d.addresses.Replace(args[i])
		}
	}
	cmd := exec.Command(d.Program, args...) //nolint:noctx // It is ended in order.
	cmd.Env = List(d.environOf(service, more))
	return cmd
}

func (d *Deployment) environOf(service string, more map[string]string) map[string]string {
	environ := d.file.Environ(service, d.env)
	maps.Copy(environ, d.environ)
	maps.Copy(environ, more)
	return environ
}

// run runs a service that ends, and returns what it printed.
func (d *Deployment) run(ctx context.Context, service string) (string, error) {
	cmd := d.command(service, nil)
	return d.output(ctx, cmd)
}

func (d *Deployment) output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	bound := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	bound.Env, bound.Stdin = cmd.Env, cmd.Stdin
	var failure strings.Builder
	bound.Stderr = &failure
	output, err := bound.Output()
	if err != nil {
		return string(output), fmt.Errorf("adsync %s: %w\n%s%s", strings.Join(cmd.Args[1:], " "), err, output,
			failure.String())
	}
	return string(output), nil
}

// start starts a process with the command line of a service. Its output goes to a file.
func (d *Deployment) start(name, service string, more map[string]string) error {
	return d.launch(name, d.command(service, more))
}

func (d *Deployment) launch(name string, cmd *exec.Cmd) error {
	p, err := local.StartLogged(name, d.Log(name), cmd)
	if err != nil {
		return err
	}
	d.processes, d.names = append(d.processes, p), append(d.names, name)
	return nil
}

// Log returns the log file of a process.
func (d *Deployment) Log(name string) string { return filepath.Join(d.Dir, name+".log") }

// Environment returns the environment of an operator's shell for this deployment.
func (d *Deployment) Environment() map[string]string {
	return d.environOf("producer", map[string]string{
		"ADSYNC_SERVER": d.Producers[0], "ADSYNC_TOKEN": d.Token, "ADSYNC_LOG_LEVEL": "error",
		"ADSYNC_API_LISTEN": "127.0.0.1:0", "ADSYNC_LOG_FORMAT": "text",
	})
}

// Adsync runs the program as an operator would, and returns what it printed.
func (d *Deployment) Adsync(ctx context.Context, args ...string) (string, error) {
	cmd := exec.Command(d.Program, args...) //nolint:noctx // It is bound to the context when it is run.
	cmd.Env = List(d.Environment())
	return d.output(ctx, cmd)
}

// API is a client of the first producer, as an admin.
func (d *Deployment) API() *client.Client { return client.New(d.Producers[0], d.Token) }

// Ask sends a request to the simulator or Prometheus, and reads the answer into a value unless that is nil.
func (d *Deployment) Ask(ctx context.Context, method, address string, body, into any) error {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return d.do(req, into)
}

func (d *Deployment) do(req *http.Request, into any) error {
	resp, err := d.httpClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil && resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s %s: %s: %w", req.Method, req.URL, resp.Status, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", req.Method, req.URL, resp.Status, answer)
	}
	if into == nil || len(answer) == 0 {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func (d *Deployment) await(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	return rig.Await(ctx, patience, what, func(ctx context.Context) (bool, error) {
		if err := d.Alive(); err != nil {
			return false, err
		}
		return done(ctx)
	})
}

// Alive returns an error if a process has ended.
func (d *Deployment) Alive() error {
	for i, p := range d.processes {
		select {
		case <-p.Exited():
			return fmt.Errorf("%s has ended: %w; its log is %s", d.names[i], cmp.Or(p.Err(), errors.New("without an error")),
				d.Log(d.names[i]))
		default:
		}
	}
	return nil
}

// Close ends everything that was started, and drops the databases. It takes its time also when everything else has
// been interrupted.
func (d *Deployment) Close() error {
	stopped := make([]error, len(d.processes))
	var wg sync.WaitGroup
	for i, p := range d.processes {
		wg.Go(func() { stopped[i] = p.Stop(stopGrace) })
	}
	wg.Wait()
	errs := []error{errors.Join(stopped...)}
	for _, db := range []*sql.DB{d.Config, d.Data} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if d.root != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // A database of many tables takes its time.
		defer cancel()
		for _, of := range []string{"config", "data"} {
			_, err := d.root.ExecContext(ctx, "DROP DATABASE IF EXISTS "+d.database(of))
			errs = append(errs, err)
		}
		errs = append(errs, d.root.Close())
	}
	d.ports.Release()
	return errors.Join(errs...)
}

// write writes a file of the deployment.
func (d *Deployment) write(name string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	path := filepath.Join(d.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
