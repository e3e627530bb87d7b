// The command schema sends generated requests to every operation of the operators' API, by schemathesis, and fails when
// an answer is a server error or is not as docs/openapi.yaml describes it. `make test-schema` runs it.
//
//	go run ./test/schema -program bin/adsync -schemathesis PATH
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"adsync/test/services/local"
)

// checks are what each answer must pass.
const checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance," +
	"response_schema_conformance,negative_data_rejection,unsupported_method"

// startMax is how long the standalone may take until it serves the description.
const startMax = 2 * time.Minute

func main() {
	program := flag.String("program", "bin/adsync", "the program adsync")
	schemathesis := flag.String("schemathesis", "", "the program schemathesis")
	examples := flag.Int("examples", 20, "how many requests of a kind each operation gets")
	seed := flag.Int("seed", 1, "what the requests are drawn from")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *program, *schemathesis, *examples, *seed)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, schemathesis string, examples, seed int) error {
	dir, err := os.MkdirTemp("", "adsync-schema-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // It is a temporary directory.
	ports := local.NewPorts()
	port, err := ports.Take()
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	log, err := os.Create(filepath.Join(dir, "standalone.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	token := rand.Text() + rand.Text()
	standalone := exec.CommandContext(ctx, program,
		"standalone", "--listen", address, "--data", filepath.Join(dir, "data"), "--accounts", "20")
	standalone.Env = append(os.Environ(),
		fmt.Sprintf(`ADSYNC_API_TOKENS=[{"name": "ada", "token": %q, "role": "admin"}]`, token))
	standalone.Stdout, standalone.Stderr = log, log
	standalone.Cancel = func() error { return standalone.Process.Signal(os.Interrupt) }
	if err := standalone.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	fuzzer := exec.CommandContext(ctx, schemathesis, "run", "http://"+address+"/api/v1/openapi.yaml",
		"--url", "http://"+address, "--header", "Authorization: Bearer "+token,
		"--wait-for-schema", strconv.Itoa(int(startMax.Seconds())), "--checks", checks,
		"--max-examples", strconv.Itoa(examples), "--seed", strconv.Itoa(seed),
		"--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--warnings", "off")
	fuzzer.Dir = dir // It keeps what it has learned where it runs.
	fuzzer.Stdout, fuzzer.Stderr = os.Stdout, os.Stderr
	failed := fuzzer.Run()
	if err := standalone.Process.Signal(os.Interrupt); err != nil {
		failed = errors.Join(failed, fmt.Errorf("the standalone has ended: %w", err))
	}
	if err := standalone.Wait(); err != nil {
		failed = errors.Join(failed, fmt.Errorf("the standalone: %w", err))
	}
	if failed != nil {
		text, _ := os.ReadFile(log.Name())
		fmt.Fprintf(os.Stderr, "%s\n", text[max(0, len(text)-4000):])
	}
	return failed
}
