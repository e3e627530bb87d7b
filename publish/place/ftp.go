package place

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/textproto"
	"path"
	"strings"

	"github.com/jlaffaye/ftp"
)

// ftpClient is a connection that is logged in.
type ftpClient struct {
	*ftp.ServerConn
	base string // the absolute path of the prefix
}

// ftpStore is the store of an FTP or FTPS server, in passive mode.
type ftpStore struct {
	config  Config
	session session[ftpClient]
}

var _ store = (*ftpStore)(nil)

func newFTP(c Config) *ftpStore {
	s := &ftpStore{config: c}
	s.session = session[ftpClient]{
		address: c.Address, timeout: c.Options.timeout(), open: s.open, answered: answeredByFTP,
		alive: func(c ftpClient) error {
			if err := c.NoOp(); err != nil && !answeredByFTP(err) {
				return err
			}
			return nil
		},
		release: func(ftpClient) {},
	}
	s.session.start()
	return s
}

// answeredByFTP reports whether an error is a reply of the server, and nothing else went wrong: after an error of the
// data connection it is unknown which reply comes next. After reply 421 the server closes the connection.
func answeredByFTP(err error) bool {
	reply, ok := err.(*textproto.Error) //nolint:errorlint // A joined error has more in it than the reply.
	return ok && reply.Code != ftp.StatusNotAvailable
}

// open logs in.
func (s *ftpStore) open(context.Context) (ftpClient, error) {
	encryption := s.tls()
	options := []ftp.DialOption{
		// Without -a most servers do not list hidden files, as temporary files are.
		ftp.DialWithForceListHidden(true),
		ftp.DialWithDialFunc(s.dialer(encryption)),
	}
	if s.config.Kind == KindFTPS {
		encrypt := ftp.DialWithExplicitTLS
		if s.config.Options.Implicit {
			encrypt = ftp.DialWithTLS
		}
		options = append(options, encrypt(encryption))
	}
	conn, err := ftp.Dial(s.config.Address, options...)
	if err != nil {
		return ftpClient{}, s.connectFailed(err)
	}
	if err := conn.Login(s.config.User, s.config.Password.Reveal()); err != nil {
		return ftpClient{}, s.connectFailed(err)
	}
	base := s.config.Prefix
	if !strings.HasPrefix(base, "/") {
		home, err := conn.CurrentDir()
		if err != nil {
			return ftpClient{}, fmt.Errorf("read the directory of the login: %w", s.classify(err))
		}
		base = path.Join("/", home, base)
	}
	return ftpClient{ServerConn: conn, base: path.Clean(base)}, nil
}

// connectFailed classifies an error before the end of the login.
func (s *ftpStore) connectFailed(err error) error {
	if reply, ok := errors.AsType[*textproto.Error](err); ok && reply.Code == ftp.StatusNotLoggedIn {
		return refuse(fmt.Errorf("the server refused the password of user %q (reply 530)", s.config.User))
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return refuse(fmt.Errorf("%w: set ca to the certificate that signed the server's", err))
	}
	return s.classify(err)
}

// tls returns the settings of the control connection and the data connections. They share sessions: many servers refuse
// a data connection that does not resume the session of the control connection.
func (s *ftpStore) tls() *tls.Config {
	host, _, _ := net.SplitHostPort(s.config.Address)
	out := s.config.tls(host)
	out.ClientSessionCache = sessions{tls.NewLRUClientSessionCache(0)}
	return out
}

// sessions keeps a session when a data connection fails: the next one needs it.
type sessions struct{ tls.ClientSessionCache }

// Put implements tls.ClientSessionCache.
func (s sessions) Put(key string, session *tls.ClientSessionState) {
	if session != nil {
		s.ClientSessionCache.Put(key, session)
	}
}

// dialer returns the function that connects first to the server and then for each transfer. The library encrypts only
// the control connection of explicit TLS.
func (s *ftpStore) dialer(encryption *tls.Config) func(network, address string) (net.Conn, error) {
	control := true
	return func(_, address string) (net.Conn, error) {
		conn, err := s.session.lines.dial(address)
		first := control
		control = false
		switch {
		case err != nil:
			return nil, err
		case s.config.Kind == KindFTPS && !first:
			return &transfer{Conn: tls.Client(conn, encryption), line: conn}, nil
		case s.config.Kind == KindFTPS && s.config.Options.Implicit:
			return tls.Client(conn, encryption), nil
		}
		return conn, nil
	}
}

// transfer is an encrypted data connection.
type transfer struct {
	*tls.Conn
	line *line
}

// Close ends the stream of bytes. The connection itself is closed after the server's reply: one that is closed while
// received bytes are unread, such as the session tickets of TLS 1.3, is reset, and bytes on their way to the server are
// lost.
func (t *transfer) Close() error {
	var err error
	if t.ConnectionState().HandshakeComplete {
		err = t.CloseWrite()
	}
	t.line.end()
	return err
}

// replyError is a server's negative reply.
type replyError struct {
	code int
	text string
}

func (e *replyError) Error() string { return fmt.Sprintf("the server replied %d %s", e.code, e.text) }

// do runs a call on the server and classifies its error.
func (s *ftpStore) do(ctx context.Context, call func(ftpClient) error) error {
	return s.classify(s.session.do(ctx, call))
}

// classify returns a reply as a *replyError without the password, and marks the replies that stay: all with a code from
// 500, except that of a full disk or quota. FTP servers reply 550 both for a missing file and for a missing right.
func (s *ftpStore) classify(err error) error {
	reply, ok := errors.AsType[*textproto.Error](err)
	if !ok {
		return err
	}
	text := reply.Msg
	if secret := s.config.Password.Reveal(); secret != "" {
		text = strings.ReplaceAll(text, secret, s.config.Password.String())
	}
	out := error(&replyError{code: reply.Code, text: text})
	if reply.Code >= 500 && reply.Code != ftp.StatusExceededStorage {
		out = refuse(out)
	}
	return out
}

// negative reports whether an error is a reply that the file does not exist or must not be used.
func negative(err error) bool {
	reply, ok := errors.AsType[*replyError](err)
	return ok && reply.code != ftp.StatusNotAvailable
}

func (s *ftpStore) full(name string) string {
	return s.config.Kind + "://" + s.config.Address + "/" + strings.TrimPrefix(path.Join(s.config.Prefix, name), "/")
}

func (s *ftpStore) mkdir(ctx context.Context, dir string) error {
	return s.do(ctx, func(c ftpClient) error { return c.ensure(path.Join(c.base, dir)) })
}

// ensure creates a directory unless it exists.
func (c ftpClient) ensure(dir string) error {
	err := c.ChangeDir(dir)
	if err == nil || !answeredByFTP(err) {
		return err
	}
	if parent := path.Dir(dir); parent != dir {
		if err := c.ensure(parent); err != nil {
			return err
		}
	}
	err = c.MakeDir(dir)
	if err != nil && answeredByFTP(err) && c.ChangeDir(dir) == nil {
		return nil // Another process has created it.
	}
	return err
}

func (s *ftpStore) write(ctx context.Context, name string, content *source) error {
	err := s.do(ctx, func(c ftpClient) error { return c.Stor(path.Join(c.base, name), content) })
	if err == nil || negative(err) || !content.sent() || ctx.Err() != nil {
		return err
	}
	// All bytes were sent and the reply is missing: firewalls cut control connections that are idle during a long
	// transfer. Verify compares the size again, and the bytes if it reads back.
	if size, wrong := s.size(ctx, name); wrong == nil && size == content.file.Size {
		return nil
	}
	return err
}

func (s *ftpStore) read(ctx context.Context, name string, n int64, into *tally) error {
	err := s.do(ctx, func(c ftpClient) error {
		file, err := c.Retr(path.Join(c.base, name))
		if err != nil {
			return err
		}
		// One byte more finds the end of the file: some servers call it an error if it is not read.
		_, err = io.Copy(into, io.LimitReader(file, n+1))
		if wrong := file.Close(); wrong != nil {
			return wrong
		}
		return err
	})
	if err != nil && ctx.Err() == nil && into.n == n {
		return nil // Servers that do not end TLS properly make the end an error. The hash decides.
	}
	return err
}

func (s *ftpStore) size(ctx context.Context, name string) (size int64, err error) {
	err = s.do(ctx, func(c ftpClient) (err error) {
		size, err = c.FileSize(path.Join(c.base, name))
		return err
	})
	if err == nil || !negative(err) {
		return size, err
	}
	// The file is missing, or the server does not know SIZE. Its list knows.
	entries, err := s.list(ctx, path.Dir(name))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		switch {
		case e.name != path.Base(name):
		case !e.file:
			return 0, refuse(errNoFile)
		default:
			return e.size, nil
		}
	}
	return 0, fs.ErrNotExist
}

func (s *ftpStore) rename(ctx context.Context, from, to string, replace bool) error {
	move := func(c ftpClient) error { return c.Rename(path.Join(c.base, from), path.Join(c.base, to)) }
	err := s.do(ctx, move)
	if err == nil || !replace || !negative(err) {
		return err
	}
	// The server may refuse because the target exists.
	for _, name := range []string{to, from} {
		if _, missing := s.size(ctx, name); missing != nil {
			return err
		}
	}
	if s.remove(ctx, to) != nil {
		return err
	}
	return s.do(ctx, move)
}

func (s *ftpStore) remove(ctx context.Context, name string) error {
	del := func(c ftpClient) error { return c.Delete(path.Join(c.base, name)) }
	err := s.do(ctx, del)
	if err == nil || !negative(err) {
		return err
	}
	switch _, missing := s.size(ctx, name); {
	case errors.Is(missing, fs.ErrNotExist):
		return nil
	case missing == nil:
		// The server refuses it, or an upload whose client has ended made the file only after the first command.
		return s.do(ctx, del)
	case !negative(missing):
		return missing // The connection failed, or ctx has ended.
	}
	return err
}

func (s *ftpStore) list(ctx context.Context, dir string) (entries []entry, err error) {
	err = s.do(ctx, func(c ftpClient) error {
		at := path.Join(c.base, dir)
		found, err := c.List(at)
		if err != nil {
			// The replies for a missing directory and for a missing right are the same.
			if answeredByFTP(err) && answeredByFTP(c.ChangeDir(at)) {
				return nil
			}
			return err
		}
		for _, e := range found {
			if name := path.Base(e.Name); name != "." && name != ".." {
				entries = append(entries, entry{name: name, file: e.Type == ftp.EntryTypeFile,
					dir: e.Type == ftp.EntryTypeFolder, size: int64(e.Size)}) //nolint:gosec // No file has 2^63 bytes.
			}
		}
		return nil
	})
	return entries, err
}

func (s *ftpStore) close() error { return s.session.close() }
