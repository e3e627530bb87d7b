package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"adsync/base/secret"
)

const (
	// hashMark begins a token that is configured by its SHA-256. The hash tells nothing of a token that cannot be guessed.
	hashMark = "sha256:"
	// tokenMark begins tokens that are made here: scanners for secrets know them by it.
	tokenMark = "adsync_"
	// hashedLengthMin is how long a token must be that is configured by its hash: one that people think up could be
	// found from it.
	hashedLengthMin = 32
)

// NewToken makes a token that cannot be guessed.
func NewToken() secret.Text {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // It never fails.
	return secret.NewText(tokenMark + base64.RawURLEncoding.EncodeToString(raw))
}

// HashToken returns what stands for a token in api.tokens.
func HashToken(token secret.Text) string {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return hashMark + hex.EncodeToString(sum[:])
}

// hash returns the hash of the token, and how long a text must be to be it; ok is false for what begins as a hash and
// is none.
func (t Token) hash() (sum [sha256.Size]byte, lengthMin int, ok bool) {
	text, hashed := strings.CutPrefix(t.Token.Reveal(), hashMark)
	if !hashed {
		return sha256.Sum256([]byte(text)), tokenLengthMin, true
	}
	raw, err := hex.DecodeString(text)
	return [sha256.Size]byte(append(raw, make([]byte, sha256.Size)...)), hashedLengthMin, err == nil &&
		len(raw) == sha256.Size
}
