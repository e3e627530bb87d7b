// Package compose brings docker-compose.yml up on this machine without Docker: its services that are adsync run by
// their own command lines and variables, as processes that use a Kafka, a MySQL and a Redis which the caller has
// started.
package compose

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// File is the part of docker-compose.yml that is needed here; the yaml package resolves the anchors and merges.
type File struct {
	Services map[string]Service `yaml:"services"`
}

// Service is one of its services.
type Service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Deploy      struct {
		Replicas int `yaml:"replicas"`
	} `yaml:"deploy"`
	Ports []string `yaml:"ports"`
}

// Read reads the file of the repository at root; test/manifests has Docker Compose's own library read it.
func Read(root string) (File, error) {
	var file File
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		return file, err
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return file, fmt.Errorf("read docker-compose.yml: %w", err)
	}
	return file, nil
}

// Environ returns the environment of a service for a user whose .env has these values.
func (f File) Environ(service string, env map[string]string) map[string]string {
	values := map[string]string{}
	for variable, value := range f.Services[service].Environment {
		values[variable] = os.Expand(value, func(expression string) string { return expand(expression, env) })
	}
	return values
}

// expand does what compose does with ${NAME:-default} and ${NAME:?message}.
func expand(expression string, env map[string]string) string {
	if name, value, ok := strings.Cut(expression, ":-"); ok {
		if set := env[name]; set != "" {
			return set
		}
		return value
	}
	name, _, _ := strings.Cut(expression, ":?")
	return env[name]
}

// List returns an environment in the form for a process.
func List(environ map[string]string) []string {
	var all []string
	for _, variable := range slices.Sorted(maps.Keys(environ)) {
		all = append(all, variable+"="+environ[variable])
	}
	return all
}
