package local

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// FileLogin is how a client logs in to a server of files, and where it may write.
type FileLogin struct {
	Address  string `json:"address"`
	User     string `json:"user"`
	Password string `json:"password,omitempty"`
	Key      string `json:"key,omitempty"`      // a private key in PEM form
	HostKey  string `json:"host_key,omitempty"` // the server's, as a line of known_hosts without the host
	CA       string `json:"ca,omitempty"`       // in PEM form
	Dir      string `json:"dir"`                // an absolute path, on the server and on this machine
}

// setting returns NAME=value with the login as JSON.
func (l *FileLogin) setting(name string) string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // It has only texts.
	}
	return name + "=" + string(text)
}

// greeted returns nil if the server answers a connection with a text.
func (l *FileLogin) greeted(ctx context.Context, want string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("its first bytes are %q: want %q", got, want)
	}
	return nil
}

// prepare chooses the port, makes the directory for the clients' files, and names the account of this process.
func (l *FileLogin) prepare(dir string, ports *Ports) (port int, err error) {
	if port, err = ports.Take(); err != nil {
		return 0, err
	}
	account, err := user.Current()
	if err != nil {
		return 0, err
	}
	l.Address, l.User, l.Dir = Loopback(port), account.Username, filepath.Join(dir, "files")
	return port, os.Mkdir(l.Dir, 0o755)
}

// SFTP is OpenSSH's server with its sftp-server. The account of this process logs in with a key.
type SFTP struct {
	FileLogin

	config string // a file
}

// Name implements Kind.
func (*SFTP) Name() string { return "sftp" }

// Install implements Kind.
func (*SFTP) Install(ctx context.Context, stderr io.Writer) error {
	return ensurePrograms(ctx, stderr, []string{"sshd", "sftp-server"}, []string{"openssh-server"})
}

func (s *SFTP) prepare(_ context.Context, dir string, ports *Ports) error {
	port, err := s.FileLogin.prepare(dir, ports)
	if err != nil {
		return err
	}
	subsystem, err := lookProgram("sftp-server")
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 { // As root the server wants an empty directory, which Debian's service makes.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return err
		}
	}
	hostKey, hostPublic, err1 := newSSHKey()
	key, public, err2 := newSSHKey()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.HostKey, s.Key, s.config = hostPublic, key, filepath.Join(dir, "sshd_config")
	lines := []string{
		"ListenAddress 127.0.0.1", "Port " + strconv.Itoa(port), "PidFile none",
		"HostKey " + filepath.Join(dir, "host_key"), "AuthorizedKeysFile " + filepath.Join(dir, "authorized_keys"),
		"StrictModes no", // The directories above belong to the caller.
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password", "UsePAM no",
		"MaxStartups 1000", // Tests open many connections at once.
		"Subsystem sftp " + subsystem,
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "host_key"), []byte(hostKey), 0o600),
		os.WriteFile(filepath.Join(dir, "authorized_keys"), []byte(public), 0o600),
		os.WriteFile(s.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (s *SFTP) command() (*exec.Cmd, error) {
	program, err := lookProgram("sshd")
	if err != nil {
		return nil, err
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	return exec.Command(program, "-D", "-e", "-f", s.config), nil
}

// Setting implements Kind.
func (s *SFTP) Setting() string { return s.setting("ADSYNC_TEST_SFTP") }

// Ready implements Kind.
func (s *SFTP) Ready(ctx context.Context) error { return s.greeted(ctx, "SSH-2.0-") }

// newSSHKey returns a new private key in PEM form, and its public key as a line.
func newSSHKey() (private, public string, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return "", "", err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(signer.PublicKey())), nil
}

// FTPS is vsftpd with explicit TLS. It needs no account of the machine: the one login is its anonymous user, with a
// password. It runs as the account of this process and its clients can reach all files of that account.
type FTPS struct {
	FileLogin

	config string // a file
}

// Name implements Kind.
func (*FTPS) Name() string { return "ftps" }

// Install implements Kind.
func (*FTPS) Install(ctx context.Context, stderr io.Writer) error {
	return ensurePrograms(ctx, stderr, []string{"vsftpd"}, []string{"vsftpd"})
}

func (s *FTPS) prepare(_ context.Context, dir string, ports *Ports) error {
	port, err := s.FileLogin.prepare(dir, ports)
	if err != nil {
		return err
	}
	key, certificate, err := NewCertificate()
	if err != nil {
		return err
	}
	account := s.User
	s.User, s.Password, s.CA, s.config = "ftp", rand.Text(), certificate, filepath.Join(dir, "vsftpd.conf")
	at := func(name string) string { return filepath.Join(dir, name) }
	lines := []string{
		"listen=YES", "listen_address=127.0.0.1", "listen_port=" + strconv.Itoa(port), "pasv_address=127.0.0.1",
		"background=NO", "run_as_launching_user=YES", "secure_chroot_dir=" + dir, "nopriv_user=" + account,
		"ftp_username=" + account, "anon_root=" + s.Dir, "local_enable=NO", "anonymous_enable=YES",
		"secure_email_list_enable=YES", "email_password_file=" + at("passwords"),
		"write_enable=YES", "anon_world_readable_only=NO", "anon_upload_enable=YES", "anon_mkdir_write_enable=YES",
		"anon_other_write_enable=YES", "anon_umask=022",
		"ssl_enable=YES", "allow_anon_ssl=YES", "force_anon_logins_ssl=YES", "force_anon_data_ssl=YES",
		"require_ssl_reuse=YES", "ssl_ciphers=HIGH",
		"rsa_cert_file=" + at("certificate"), "rsa_private_key_file=" + at("key"),
		"max_clients=0", "max_per_ip=0", // Tests open many connections at once.
		"vsftpd_log_file=" + at("log"), "seccomp_sandbox=NO", // Containers may not have it.
	}
	return errors.Join(
		os.WriteFile(at("key"), []byte(key), 0o600),
		os.WriteFile(at("certificate"), []byte(certificate), 0o600),
		os.WriteFile(at("passwords"), []byte(s.Password+"\n"), 0o600),
		os.WriteFile(s.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (s *FTPS) command() (*exec.Cmd, error) {
	program, err := lookProgram("vsftpd")
	if err != nil {
		return nil, err
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	return exec.Command(program, s.config), nil
}

// Setting implements Kind.
func (s *FTPS) Setting() string { return s.setting("ADSYNC_TEST_FTPS") }

// Ready implements Kind.
func (s *FTPS) Ready(ctx context.Context) error { return s.greeted(ctx, "220 ") }

// NewCertificate returns a private key and a certificate of it for 127.0.0.1, both in PEM form.
func NewCertificate() (key, certificate string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
