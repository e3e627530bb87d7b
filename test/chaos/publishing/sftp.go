package publishing

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// serveSFTP starts an SFTP server on a directory, and returns its address and its public key. It offers
// posix-rename@openssh.com.
func serveSFTP(ctx context.Context, dir string, f *faults) (address, hostKey string, stop func(), err error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", nil, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return "", "", nil, err
	}
	config := &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
		if c.User() != login || string(given) != password {
			return nil, errors.New("wrong password")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	listener, err := listen(ctx)
	if err != nil {
		return "", "", nil, err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSFTPTo(conn, config, &sftpDir{dir: dir, faults: f})
		}
	}()
	return listener.Addr().String(), string(ssh.MarshalAuthorizedKey(signer.PublicKey())),
		func() { _ = listener.Close() }, nil
}

// serveSFTPTo serves one connection until it is closed.
func serveSFTPTo(conn net.Conn, config *ssh.ServerConfig, handler *sftpDir) {
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
			server := sftp.NewRequestServer(channel,
				sftp.Handlers{FileGet: handler, FilePut: handler, FileCmd: handler, FileList: handler})
			_ = server.Serve()
			_ = server.Close()
		})
	}
}

// sftpDir serves a directory with faults.
type sftpDir struct {
	dir    string
	faults *faults
}

func (s *sftpDir) at(name string) string { return filepath.Join(s.dir, filepath.Clean("/"+name)) }

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
	if err := f.faults.received(f.total.Add(int64(len(p)))); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// Close implements io.Closer.
func (f *sftpFile) Close() error { return errors.Join(f.File.Close(), f.faults.stored(f.Name())) }

// Filecmd implements sftp.FileCmder.
func (s *sftpDir) Filecmd(r *sftp.Request) error {
	if r.Method == "Rename" {
		return s.faults.rename(s.at(r.Filepath), s.at(r.Target), false)
	}
	if err := s.faults.mayChange(); err != nil {
		return err
	}
	switch r.Method {
	case "Mkdir":
		return os.Mkdir(s.at(r.Filepath), 0o755)
	case "Remove":
		return os.Remove(s.at(r.Filepath))
	}
	return sftp.ErrSSHFxOpUnsupported
}

// PosixRename implements sftp.PosixRenameFileCmder.
func (s *sftpDir) PosixRename(r *sftp.Request) error {
	return s.faults.rename(s.at(r.Filepath), s.at(r.Target), true)
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
