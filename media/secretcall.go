package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"adsync/base/secret"
	"adsync/media/wire"
)

// SecretCall is a call whose address, header or body holds secrets, such as one for tokens.
type SecretCall struct {
	Method, Address string
	ContentType     string // of Body; "" if there is none
	Body            []byte
	Sign            func(*http.Request) // nil adds nothing
	Secrets         []secret.Text       // they are removed from the error
}

// Send sends the call and returns the data of its answer.
func (c SecretCall) Send(ctx context.Context, transport Transport, p Platform) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, c.Address, bytes.NewReader(c.Body))
	if err != nil {
		return nil, &Error{Class: Bug, Message: "the base URL is invalid"}
	}
	if c.ContentType != "" {
		req.Header.Set("Content-Type", c.ContentType)
	}
	if c.Sign != nil {
		c.Sign(req)
	}
	status, header, answer, err := transport.Do(req)
	if err != nil {
		return nil, err
	}
	data, err := p.Decode(status, header, answer)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Redact(c.Secrets...)
	}
	return data, err
}

// SendJSON sends the call as a POST with a JSON body, and returns the data of its answer.
func (c SecretCall) SendJSON(ctx context.Context, transport Transport, p Platform, body any) (json.RawMessage, error) {
	var err error
	c.Method, c.ContentType = http.MethodPost, cmp.Or(c.ContentType, "application/json")
	if c.Body, err = json.Marshal(body); err != nil {
		return nil, &Error{Class: Invalid, Message: "the body cannot be encoded: is the app's id a number?"}
	}
	return c.Send(ctx, transport, p)
}

// ownerTries is how often the call for the login is tried.
const ownerTries = 3

// OwnerOf asks a GET endpoint for the login that new tokens belong to. read returns the login's id and name. The call
// is tried three times: tokens whose owner is unknown cannot be stored, and their code is spent.
func OwnerOf(ctx context.Context, transport Transport, p Platform, tokens Tokens, endpoint string,
	read func(*wire.Row) (id, name string)) (Authorisation, error) {
	ask := func() (Authorisation, error) {
		data, err := SecretCall{
			Method: http.MethodGet, Address: transport.BaseURL() + "/" + endpoint, Secrets: []secret.Text{tokens.Access},
			Sign: func(req *http.Request) { p.Sign(req, tokens.Access.Reveal(), transport.Now()) },
		}.Send(ctx, transport, p)
		if err != nil {
			return Authorisation{}, err
		}
		user := wire.Open(data)
		a := Authorisation{Tokens: tokens}
		if a.Login, a.Name = read(user); user.Lost() {
			return Authorisation{}, Broken(endpoint, errors.New("it does not name the login"))
		}
		return a, nil
	}
	for try := 1; ; try++ {
		a, err := ask()
		if err == nil {
			return a, nil
		}
		if try == ownerTries || ctx.Err() != nil {
			return Authorisation{}, WithoutOwner(err)
		}
	}
}

// WithoutOwner adds to a platform's error that its tokens are lost, since their login is unknown.
func WithoutOwner(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Message += ": the platform returned tokens but not their login: authorise again"
	}
	return err
}
