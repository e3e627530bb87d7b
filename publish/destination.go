package publish

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/store/publishing"
	"adsync/base/strictjson"
	"adsync/media"
	"adsync/publish/place"
)

// fileOf returns a small file.
func fileOf(name string, delivery int64, content []byte) place.File {
	return place.File{Name: name, Delivery: delivery, Size: int64(len(content)), SHA256: sha256.Sum256(content),
		Content: bytes.NewReader(content)}
}

// Credentials are the secrets of a destination. They are stored sealed.
type Credentials struct {
	Password string `json:"password,omitempty"` // or the secret key of s3
	Key      string `json:"key,omitempty"`      // a private key of sftp, in PEM
}

// Seal seals the credentials of a destination; none give "".
func Seal(box *secret.Box, destination string, c Credentials) (string, error) {
	if c == (Credentials{}) {
		return "", nil
	}
	text, err := json.Marshal(c) //nolint:gosec // It is sealed below.
	if err != nil {
		return "", err
	}
	return box.Seal(string(text), publishing.CredentialsPlace(destination))
}

// PlaceConfig returns the settings of a destination, with its credentials opened.
func PlaceConfig(box *secret.Box, d publishing.Destination) (place.Config, error) {
	c := place.Config{Kind: d.Kind, Address: d.Address, Prefix: d.Prefix, User: d.Login, HostKey: d.HostKey, CA: d.CA}
	if d.Options != "" {
		if err := strictjson.Unmarshal([]byte(d.Options), &c.Options); err != nil {
			return c, within("options", d.Options, err)
		}
	}
	secrets, err := OpenCredentials(box, d)
	c.Password, c.Key = secret.NewText(secrets.Password), secret.NewText(secrets.Key)
	return c, err
}

// OpenCredentials returns the credentials of a destination; the zero ones if it has none.
func OpenCredentials(box *secret.Box, d publishing.Destination) (c Credentials, err error) {
	if d.Credentials == "" {
		return c, nil
	}
	text, err := box.Open(d.Credentials, publishing.CredentialsPlace(d.Name))
	if err != nil {
		return c, fmt.Errorf("open the credentials of the destination %s: %w", d.Name, err)
	}
	if json.Unmarshal([]byte(text), &c) != nil {
		return c, fmt.Errorf("the credentials of the destination %s are not JSON", d.Name)
	}
	return c, nil
}

// openPlace takes one of a destination's connections until the end of the try, and returns the place, whose first call
// connects. returnConnection is its counterpart.
func (deps *Deps) openPlace(ctx context.Context, name string, config place.Config, delivery int64) (place.Place,
	error) {
	now := deps.Clock.Now()
	most := cmp.Or(config.Options.Connections, place.ConnectionsDefault)
	until := now.Add(connectionMax)
	if left, ok := clock.Left(ctx); ok {
		until = now.Add(left)
	}
	taken, err := deps.Store.TakeConnection(ctx, name, most, delivery, now, until)
	if err != nil {
		return nil, err
	}
	if !taken {
		return nil, &media.DeferError{After: busyWait,
			Reason: fmt.Sprintf("all %d connections of the destination %s are in use", most, name)}
	}
	config.Options.BytesPerSecond /= int64(most)
	at, err := place.Open(ctx, config)
	if err != nil {
		deps.returnConnection(ctx, name, delivery)
		return nil, &media.Error{Class: media.Invalid, Message: err.Error()}
	}
	return at, nil
}

// returnConnection returns the connection of a destination. It is free at the try's deadline anyway.
func (deps *Deps) returnConnection(ctx context.Context, name string, delivery int64) {
	err := deps.Store.ReturnConnection(context.WithoutCancel(ctx), name, delivery, deps.Clock.Now())
	if err != nil {
		deps.Logger.Warn("cannot return the connection of a destination", "destination", name, "err", err)
	}
}
