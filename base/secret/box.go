package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"gopkg.in/yaml.v3"

	"adsync/base/config"
)

const (
	keySize = 32   // AES-256
	version = "v1" // of the sealed form: v1:<key id>:<base64 of nonce, ciphertext and tag>
)

// ErrTampered means that a sealed text is not one of this box, was changed, or was moved to another place.
var ErrTampered = errors.New("the sealed text is damaged or belongs elsewhere")

// UnknownKeyError means that a sealed text needs a key that the box does not have.
type UnknownKeyError struct {
	ID string
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("no key %q is configured: add it to secret.keys or the file of secret.keys_file", e.ID)
}

// Box seals texts for the database with AES-256-GCM and opens them again. It is safe for concurrent use.
type Box struct {
	keys *ring // nil for a box whose keys are in a file
	file *config.Followed[*ring]
}

// ring holds the keys of a box at a time.
type ring struct {
	ids   []string // the first one seals
	aeads map[string]cipher.AEAD
}

// NewBox returns a box whose first key seals and all of whose keys open.
func NewBox(keys ...Key) (*Box, error) {
	r, err := newRing(keys)
	if err != nil {
		return nil, err
	}
	return &Box{keys: r}, nil
}

// OpenBox returns the box of a configuration. A box whose keys are in a file uses the keys that are in it when it
// seals or opens.
func OpenBox(cfg Config, logger *slog.Logger) (*Box, error) {
	if cfg.KeysFile == "" {
		return NewBox(cfg.Keys...)
	}
	file, err := config.Follow(logger, "secret.keys_file",
		func(texts [][]byte) (*ring, error) { return readRing(texts[0]) }, cfg.KeysFile)
	if err != nil {
		return nil, fmt.Errorf("read secret.keys_file: %w", err)
	}
	return &Box{file: file}, nil
}

// readRing parses the list of keys in a file. Its error contains nothing of the text, unlike the YAML package's own.
func readRing(text []byte) (*ring, error) {
	var keys []Key
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var second yaml.Node
	if decoder.Decode(&keys) != nil || !errors.Is(decoder.Decode(&second), io.EOF) {
		return nil, errors.New("it is no list of keys in YAML: want - {id: k1, key: …} for each")
	}
	return newRing(keys)
}

func newRing(keys []Key) (*ring, error) {
	if err := (Config{Keys: keys}).Validate(); err != nil {
		return nil, err
	}
	r := &ring{aeads: map[string]cipher.AEAD{}}
	for _, k := range keys {
		raw, err := k.bytes()
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		// The nonce is random: a key is sufficient for 2^32 texts, far more than a table of tokens has.
		if r.aeads[k.ID], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		r.ids = append(r.ids, k.ID)
	}
	return r, nil
}

// ring returns the current keys.
func (b *Box) ring() *ring {
	if b.file == nil {
		return b.keys
	}
	return b.file.Current()
}

// IDs returns the names of the keys. The first one seals.
func (b *Box) IDs() []string { return b.ring().ids }

// NewKey returns a key with random bytes.
func NewKey(id string) Key {
	raw := make([]byte, keySize)
	_, _ = rand.Read(raw) // It never fails.
	return Key{ID: id, Key: NewText(base64.StdEncoding.EncodeToString(raw))}
}

// Seal encrypts plain. The place names where the sealed text is kept, such as "media_token:17:refresh". Open needs
// the same place, so that a sealed text copied to another row does not open there.
func (b *Box) Seal(plain, place string) (string, error) {
	r := b.ring()
	head := version + ":" + r.ids[0] + ":"
	associated := []byte(head + place)
	sealed := r.aeads[r.ids[0]].Seal(nil, nil, []byte(plain), associated) //nolint:gosec // It generates the nonce itself.
	return head + base64.StdEncoding.EncodeToString(sealed), nil
}

// KeyOf returns the name of the key that a text was sealed with, "" for any other text.
func KeyOf(sealed string) string {
	parts := strings.SplitN(sealed, ":", 3)
	if len(parts) != 3 || parts[0] != version {
		return ""
	}
	return parts[1]
}

// Open decrypts what Seal returned for the same place, with the key that it names. It fails with *UnknownKeyError or
// ErrTampered.
func (b *Box) Open(sealed, place string) (string, error) {
	id := KeyOf(sealed)
	if id == "" {
		return "", ErrTampered
	}
	aead, ok := b.ring().aeads[id]
	if !ok && b.file != nil {
		// Another process may have read a newer file before this one.
		aead, ok = b.file.Reload().aeads[id]
	}
	if !ok {
		return "", &UnknownKeyError{ID: id}
	}
	head := version + ":" + id + ":"
	raw, err := base64.StdEncoding.Strict().DecodeString(sealed[len(head):])
	if err != nil {
		return "", ErrTampered
	}
	plain, err := aead.Open(nil, nil, raw, []byte(head+place))
	if err != nil {
		return "", ErrTampered
	}
	return string(plain), nil
}
