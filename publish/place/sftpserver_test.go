package place_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"adsync/base/secret"
	"adsync/publish/place"
)

// newSigner returns a new private key.
func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return signer
}

// newHostKey returns the public key of another server.
func newHostKey(t *testing.T) string {
	t.Helper()
	return string(ssh.MarshalAuthorizedKey(newSigner(t).PublicKey()))
}

// newKey makes a private key for the user of a server.
func newKey(t *testing.T, r *rig, passphrase string) secret.Text {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	known := string(key.Marshal())
	r.faults.key.Store(&known)
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	require.NoError(t, err)
	return newSecret(string(pem.EncodeToMemory(block)))
}

// newSFTPRig starts an SFTP server on a directory. Without posix it does not offer posix-rename@openssh.com.
func newSFTPRig(t *testing.T, posix bool) *rig {
	t.Helper()
	dir, signer := t.TempDir(), newSigner(t)
	f := &faults{posix: posix}
	f.keepsOld.Store(!posix)
	config := &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
		if c.User() != user || string(given) != password {
			return nil, errors.New("wrong password")
		}
		return nil, nil
	}, PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if known := f.key.Load(); known == nil || string(key.Marshal()) != *known {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serveSFTP(conn, config, &sftpDir{dir: dir, faults: f}, posix) })
		}
	})
	f.proxy = newProxy(t, listener.Addr().String())
	r := &rig{t: t, faults: f, config: place.Config{
		Kind: place.KindSFTP, Address: f.proxy.address(), Prefix: "/daily/reports", User: user,
		Password: newSecret(password), HostKey: string(ssh.MarshalAuthorizedKey(signer.PublicKey())),
	}}
	return r.onDisk(filepath.Join(dir, "daily/reports"))
}

// serveSFTP serves one connection until it is closed.
func serveSFTP(conn net.Conn, config *ssh.ServerConfig, handler *sftpDir, posix bool) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { ssh.DiscardRequests(requests) })
	for offer := range channels {
		channel, requests, err := offer.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			for r := range requests {
				_ = r.Reply(r.Type == "subsystem", nil)
			}
		})
		wg.Go(func() {
			var rwc io.ReadWriteCloser = channel
			if !posix {
				rwc = &plainVersion{ReadWriteCloser: channel}
			}
			server := sftp.NewRequestServer(rwc, sftp.Handlers{FileGet: handler, FilePut: handler, FileCmd: handler,
				FileList: handler})
			_ = server.Serve()
			_ = server.Close()
		})
	}
}

// plainVersion replaces the first packet of a server, which lists its extensions, by one without any.
type plainVersion struct {
	io.ReadWriteCloser
	first []byte
	done  bool
}

// Write implements io.Writer.
func (p *plainVersion) Write(b []byte) (int, error) {
	if p.done {
		return p.ReadWriteCloser.Write(b)
	}
	p.first = append(p.first, b...)
	if len(p.first) < 4 || len(p.first) < 4+int(binary.BigEndian.Uint32(p.first)) {
		return len(b), nil
	}
	p.done = true
	_, err := p.ReadWriteCloser.Write([]byte{0, 0, 0, 5, 2, 0, 0, 0, 3})
	return len(b), err
}

// sftpDir serves a directory with faults.
type sftpDir struct {
	dir    string
	faults *faults
}

func (s *sftpDir) at(name string) string { return filepath.Join(s.dir, name) }

// Fileread implements sftp.FileReader.
func (s *sftpDir) Fileread(r *sftp.Request) (io.ReaderAt, error) { return os.Open(s.at(r.Filepath)) }

// Filewrite implements sftp.FileWriter.
func (s *sftpDir) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	if err := s.faults.mayChange(); err != nil {
		return nil, err
	}
	opened, err := os.OpenFile(s.at(r.Filepath), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &sftpFile{File: opened, faults: s.faults}, nil
}

// sftpFile is a file that is written.
type sftpFile struct {
	*os.File
	faults *faults
	total  atomic.Int64
}

// WriteAt implements io.WriterAt.
func (f *sftpFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.faults.received(int(f.total.Add(int64(len(p))))); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// Close implements io.Closer.
func (f *sftpFile) Close() error { return errors.Join(f.faults.stored(f.Name()), f.File.Close()) }

// Filecmd implements sftp.FileCmder.
func (s *sftpDir) Filecmd(r *sftp.Request) error {
	if err := s.faults.mayChange(); err != nil {
		return err
	}
	switch r.Method {
	case "Mkdir":
		return os.Mkdir(s.at(r.Filepath), 0o755)
	case "Remove":
		return os.Remove(s.at(r.Filepath))
	case "Rename":
		return s.faults.rename(s.at(r.Filepath), s.at(r.Target))
	}
	return sftp.ErrSSHFxOpUnsupported
}

// PosixRename implements sftp.PosixRenameFileCmder.
func (s *sftpDir) PosixRename(r *sftp.Request) error {
	return s.faults.rename(s.at(r.Filepath), s.at(r.Target))
}

// Filelist implements sftp.FileLister.
func (s *sftpDir) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	if r.Method != "List" {
		info, err := os.Lstat(s.at(r.Filepath))
		return infos{info}, err
	}
	entries, err := os.ReadDir(s.at(r.Filepath))
	if err != nil {
		return nil, err
	}
	var out infos
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			out = append(out, info)
		}
	}
	return out, nil
}

// infos are the entries of a directory.
type infos []os.FileInfo

// ListAt implements sftp.ListerAt.
func (l infos) ListAt(into []os.FileInfo, at int64) (int, error) {
	if at >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(into, l[at:])
	if n < len(into) {
		return n, io.EOF
	}
	return n, nil
}
