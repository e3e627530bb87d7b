package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"gopkg.in/yaml.v3"
)

// EnvPrefix begins the name of every environment variable that sets something.
const EnvPrefix = "ADSYNC_"

// Options defines the sources of settings.
type Options struct {
	File      string     // the YAML file; empty for none
	Environ   []string   // in the form of os.Environ
	IgnoreEnv []string   // variables with the prefix that are no settings; a trailing * matches any ending
	Overrides []Override // from the command line; they win over all others
	Sections  []string   // the top sections that must be valid; nil for all
	// Removed are the top sections that earlier releases had, each with what replaces it.
	Removed map[string]string
}

// Override is a setting given on the command line.
type Override struct {
	Flag  string // as the user wrote it, such as "--listen"
	Key   string // such as "api.listen"
	Value string
}

// Sources records where settings were set.
type Sources struct {
	origins map[string]string
}

// Of returns where the setting, or the list or section around it, was set: "producer.yaml:12",
// "environment ADSYNC_LOG_LEVEL" or "flag --listen". It returns "default" for one that was not set.
func (s *Sources) Of(key string) string {
	for key != "" {
		if origin, ok := s.origins[key]; ok {
			return origin
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return "default"
}

// Load fills the struct behind the pointer, which holds the defaults, from the file, the environment and the command
// line, and validates its sections. It returns all problems at once, as an *Error. The struct must not be used then.
func Load(into any, o Options) (*Sources, error) {
	root, err := newTree(into)
	if err != nil {
		return nil, err
	}
	origins := map[string]string{}
	var problems []Problem
	merged := koanf.New(".")
	for _, read := range []func(*node, *layer, Options) map[string]any{readFile, readEnv, readOverrides} {
		l := &layer{origin: func(int) string { return "" }, origins: origins, removed: o.Removed}
		values := read(root, l, o)
		problems = append(problems, l.problems...)
		if err := merged.Load(confmap.Provider(values, ""), nil); err != nil {
			return nil, fmt.Errorf("merge settings: %w", err)
		}
	}
	if err := decode(merged, root, into); err != nil {
		return nil, err
	}
	sources := &Sources{origins: origins}
	problems = append(problems, validate(root, sources, o.Sections, problems)...)
	if len(problems) > 0 {
		return nil, &Error{Problems: problems}
	}
	return sources, nil
}

// SecretVariable returns the environment variable of a setting that is a secret or contains one. holds is false for
// every other key.
func SecretVariable(into any, key string) (variable string, holds bool) {
	root, err := newTree(into)
	if err != nil {
		return "", false
	}
	n := root.find(key)
	if n == nil || n.kind == section || !n.holdsSecret() {
		return "", false
	}
	return n.env(), true
}

func readFile(root *node, l *layer, o Options) map[string]any {
	if o.File == "" {
		return nil
	}
	l.origin = func(line int) string { return fmt.Sprintf("%s:%d", o.File, line) }
	data, err := os.ReadFile(o.File)
	if err != nil {
		// The text of the path error would repeat the name.
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		l.problems = append(l.problems, Problem{Origin: o.File, Message: "the file cannot be read: " + err.Error()})
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err = decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if err = decoder.Decode(&second); errors.Is(err, io.EOF) {
			values, _ := l.take(root, "", doc.Content[0]).(map[string]any)
			return values
		}
		if err == nil {
			err = fmt.Errorf("line %d begins a second document: want one", second.Line)
		}
	}
	l.problems = append(l.problems, Problem{Origin: o.File, Message: "the file is not valid YAML: " +
		strings.TrimPrefix(err.Error(), "yaml: ")})
	return nil
}

// serviceLink matches what Kubernetes adds to the environment of every container for each service of its namespace. A
// service that is named adsync-something must not stop the program.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$`)

func readEnv(root *node, l *layer, o Options) map[string]any {
	byEnv := map[string]*node{}
	var known []string
	for _, n := range root.settings() {
		byEnv[n.env()] = n
		known = append(known, strings.TrimPrefix(n.env(), EnvPrefix))
	}
	values := map[string]any{}
	names, vars := envVars(o.Environ)
	for _, name := range names {
		l.origin = func(int) string { return "environment " + name }
		n, ok := byEnv[name]
		switch {
		case ok:
			if v := l.takeText(n, vars[name]); v != nil {
				put(values, n.path, v)
			}
		case ignored(name, vars[name], o.IgnoreEnv):
		default:
			message := "no setting has this name"
			bare := strings.TrimPrefix(name, EnvPrefix)
			if instead := l.instead(strings.ToLower(strings.ReplaceAll(bare, "_", "."))); instead != "" {
				message += instead
			} else if near := closest(bare, known); near != "" {
				message += "; did you mean " + EnvPrefix + near + "?"
			}
			l.problems = append(l.problems, Problem{Key: name, Origin: "environment", Message: message})
		}
	}
	return values
}

func ignored(name, value string, patterns []string) bool {
	if serviceLink.MatchString(name) {
		return true
	}
	if strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://") {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return name == p || open && strings.HasPrefix(name, prefix)
	})
}

func readOverrides(root *node, l *layer, o Options) map[string]any {
	values := map[string]any{}
	for _, ov := range o.Overrides {
		l.origin = func(int) string { return "flag " + ov.Flag }
		n := root.find(ov.Key)
		switch {
		case n == nil:
			l.refuse(ov.Key, "", 0, "there is no such setting%s", cmp.Or(l.instead(ov.Key), nearestSetting(root, ov.Key)))
		case !n.value.IsValid():
			l.refuse(ov.Key, "", 0, "is part of a list or map, which is set as a whole")
		case n.kind == section:
			l.refuse(ov.Key, "", 0, "is a section: want one of its keys %s", strings.Join(n.childNames(), ", "))
		default:
			if v := l.takeText(n, ov.Value); v != nil {
				put(values, n.path, v)
			}
		}
	}
	return values
}

func nearestSetting(root *node, key string) string {
	var known []string
	for _, n := range root.settings() {
		known = append(known, n.path)
	}
	if near := closest(key, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// decode stores the merged values in the struct.
func decode(merged *koanf.Koanf, root *node, into any) error {
	// Decoding into a slice that has elements would overwrite them one by one, mixing the default's with the user's: a
	// list is replaced as a whole.
	for _, n := range root.settings() {
		if n.kind == list && merged.Exists(n.path) {
			n.value.SetZero()
		}
	}
	err := merged.UnmarshalWithConf("", into, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		TagName:     "koanf",
		Result:      into,
		ErrorUnused: true,
		DecodeHook:  mapstructure.TextUnmarshallerHookFunc(),
		MatchName:   func(key, field string) bool { return key == field },
	}})
	if err != nil {
		return fmt.Errorf("decode settings: %w", err)
	}
	return nil
}

// validator is implemented by sections. It validates everything below it.
type validator interface{ Validate() error }

// validate calls the topmost validator of each branch and leaves out known problems.
func validate(root *node, sources *Sources, sections []string, known []Problem) []Problem {
	reported := map[string]bool{}
	for _, p := range known {
		reported[p.Key] = true
	}
	var problems []Problem
	for _, top := range root.children {
		if sections != nil && !slices.Contains(sections, top.name) {
			continue
		}
		top.eachValidator(func(path string, v validator) {
			for _, err := range Flatten(v.Validate()) {
				if p := problemOf(root, sources, path, err); !reported[p.Key] {
					problems = append(problems, p)
				}
			}
		})
	}
	return problems
}

// eachValidator visits the topmost validators at and below n.
func (n *node) eachValidator(visit func(path string, v validator)) {
	if n.kind != section && n.kind != dict {
		return
	}
	if v, ok := reflect.TypeAssert[validator](n.value.Addr()); ok {
		visit(n.path, v)
		return
	}
	for _, c := range n.children {
		c.eachValidator(visit)
	}
}

func problemOf(root *node, sources *Sources, path string, err error) Problem {
	field, ok := errors.AsType[*FieldError](err)
	if !ok {
		return Problem{Key: path, Origin: sources.Of(path), Message: err.Error()}
	}
	key := joinKey(path, field.Key)
	value := field.Value
	if n := root.find(key); n != nil && n.hidden() && value != "" {
		value = "<secret>"
	}
	return Problem{Key: key, Value: value, Origin: sources.Of(key), Message: "want " + field.Want}
}
