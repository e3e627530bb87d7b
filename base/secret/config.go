package secret

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"

	"adsync/base/config"
)

// Config holds the keys that seal what the tables keep encrypted.
type Config struct {
	Keys []Key `koanf:"keys" doc:"The keys that encrypt platform tokens in the tables. The first one encrypts, all of them decrypt. A change needs a restart, or keys_file."`
	// KeysFile is for keys that change while the program runs.
	KeysFile string `koanf:"keys_file" doc:"YAML file with that list, instead of keys: - {id: k2, key: …}. It is read again when it changes, so that keys are rotated without a restart, see docs/security.md."`
}

// Key is one key of a Box.
type Key struct {
	ID  string `koanf:"id" doc:"The key's name, which is stored with what it encrypted: 1 to 32 letters, digits, - or _."`
	Key Text   `koanf:"key" doc:"32 random bytes in base64, as printed by openssl rand -base64 32."`
}

// DefaultConfig has no keys: the operator must create them.
func DefaultConfig() Config { return Config{} }

var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Validate returns an error for every invalid key, or for having no key.
func (c Config) Validate() error {
	switch {
	case c.KeysFile != "" && len(c.Keys) > 0:
		return &config.FieldError{Key: "keys_file", Value: c.KeysFile, Want: "either keys or keys_file"}
	case c.KeysFile != "":
		return nil // Its contents are checked when it is read.
	case len(c.Keys) == 0:
		return &config.FieldError{
			Key:  "keys",
			Want: "at least one key {id: k1, key: …} with 32 random bytes in base64: openssl rand -base64 32 makes one",
		}
	}
	var errs []error
	seen := map[string]bool{}
	for i, k := range c.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		switch {
		case !keyID.MatchString(k.ID):
			errs = append(errs, &config.FieldError{Key: at + ".id", Value: k.ID, Want: "1 to 32 letters, digits, - or _"})
		case seen[k.ID]:
			errs = append(errs, &config.FieldError{Key: at + ".id", Value: k.ID, Want: "an id that no other key has"})
		}
		seen[k.ID] = true
		if _, err := k.bytes(); err != nil {
			errs = append(errs, &config.FieldError{
				Key: at + ".key", Want: "32 random bytes in base64, as openssl rand -base64 32 prints them",
			})
		}
	}
	return errors.Join(errs...)
}

// bytes returns the key itself. Its error contains nothing of the text.
func (k Key) bytes() ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(k.Key.Reveal())
	if err != nil || len(b) != keySize {
		return nil, errors.New("is not 32 bytes in base64")
	}
	return b, nil
}
