package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	keySize = 32   // AES-256
	version = "v1" // of the sealed form: v1:<key id>:<base64 of nonce, ciphertext and tag>
)

// ErrTampered says that a sealed text is not one of this box, was changed, or was moved to another place.
var ErrTampered = errors.New("the sealed text is damaged or belongs elsewhere")

// UnknownKeyError says that a sealed text needs a key that the box does not have.
type UnknownKeyError struct {
	ID string
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("no key %q is configured: add it to secret.keys", e.ID)
}

// Box seals texts for the database with AES-256-GCM and opens them again. It is safe for concurrent use.
type Box struct {
	first string
	aeads map[string]cipher.AEAD
}

// NewBox makes a box whose first key seals while all keys open.
func NewBox(keys ...Key) (*Box, error) {
	if err := (Config{Keys: keys}).Validate(); err != nil {
		return nil, err
	}
	b := &Box{first: keys[0].ID, aeads: map[string]cipher.AEAD{}}
	for _, k := range keys {
		raw, err := k.bytes()
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		// The nonce is random: a key is good for 2^32 texts, which a table of tokens does not come near.
		if b.aeads[k.ID], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
	}
	return b, nil
}

// NewKey makes a key with random bytes.
func NewKey(id string) Key {
	raw := make([]byte, keySize)
	_, _ = rand.Read(raw) // It never fails.
	return Key{ID: id, Key: NewText(base64.StdEncoding.EncodeToString(raw))}
}

// Seal encrypts plain. The place names where the sealed text is kept, such as "media_token:17:refresh": Open needs the
// same, so that a sealed text copied to another row does not open there.
func (b *Box) Seal(plain, place string) (string, error) {
	head := version + ":" + b.first + ":"
	sealed := b.aeads[b.first].Seal(nil, nil, []byte(plain), []byte(head+place))
	return head + base64.StdEncoding.EncodeToString(sealed), nil
}

// Open decrypts what Seal made for the same place, with whichever key it names. It fails with *UnknownKeyError or
// ErrTampered.
func (b *Box) Open(sealed, place string) (string, error) {
	parts := strings.SplitN(sealed, ":", 3)
	if len(parts) != 3 || parts[0] != version {
		return "", ErrTampered
	}
	aead, ok := b.aeads[parts[1]]
	if !ok {
		return "", &UnknownKeyError{ID: parts[1]}
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(parts[2])
	if err != nil {
		return "", ErrTampered
	}
	head := version + ":" + parts[1] + ":"
	plain, err := aead.Open(nil, nil, raw, []byte(head+place))
	if err != nil {
		return "", ErrTampered
	}
	return string(plain), nil
}
