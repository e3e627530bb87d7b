package place_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

func TestReveal_AnswerIsLost(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		for i, replace := range []bool{false, true} {
			f := file("sales.csv", int64(i+1), []string{"first", "other"}[i])
			token := upload(t, p, f)
			r.faults.cutsRename.Store(true)
			require.NoError(t, p.Reveal(t.Context(), f, token, replace))
			require.False(t, r.faults.cutsRename.Load(), "the answer was lost")
			require.EqualValues(t, i+1, r.faults.renames.Load())
			r.requireFile(t, "sales.csv", []string{"first", "other"}[i])
			require.NoError(t, p.Reveal(t.Context(), f, token, replace))
			require.EqualValues(t, i+1, r.faults.renames.Load(), "it is done once")
			require.Equal(t, []string{"sales.csv"}, r.files())
		}
	})
}

func TestUpload_ConnectionIsCut(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("sales.csv", 1, large(1<<20))
		r.faults.cutsUpload.Store(true)
		if _, err := p.Upload(t.Context(), f, noKeep); r.config.Kind == place.KindS3 {
			require.NoError(t, err, "the client sends the part again")
		} else {
			require.ErrorContains(t, err, ".sales.csv.adsync-1.part")
			require.False(t, place.Refused(err))
		}
		require.False(t, r.faults.cutsUpload.Load(), "the connection was cut")
		_, visible := r.read("sales.csv")
		require.False(t, visible)
		deliver(t, p, f)
		r.requireFile(t, "sales.csv", large(1<<20))
	})
}

func TestUpload_ServerLosesBytes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		r.faults.loses.Store(true)
		f := file("sales.csv", 1, large(1000))
		token, err := p.Upload(t.Context(), f, noKeep)
		if err == nil {
			err = p.Verify(t.Context(), f, token, false)
			require.ErrorContains(t, err, "500 of 1000 bytes")
		}
		require.ErrorIs(t, err, place.ErrNotWhole)
		require.False(t, place.Refused(err))
		r.faults.loses.Store(false)
		deliver(t, p, f)
		r.requireFile(t, "sales.csv", large(1000))
	})
}

func TestUpload_ServerIsFull(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		r.faults.full.Store(true)
		f := file("sales.csv", 1, large(1000))
		_, err := p.Upload(t.Context(), f, noKeep)
		require.ErrorContains(t, err, "sales.csv")
		require.False(t, place.Refused(err), "it may have space again: %v", err)
		require.ErrorContains(t, p.Probe(t.Context()), "writing a file failed")
		r.faults.full.Store(false)
		deliver(t, p, f)
		r.requireFile(t, "sales.csv", large(1000))
		require.NoError(t, p.Probe(t.Context()))
	})
}

func TestPlace_ServerRefusesChanges(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("sales.csv", 1, "x")
		token := upload(t, p, f)
		r.write("old.csv", "old")
		r.faults.readOnly.Store(true)

		err := p.Reveal(t.Context(), f, token, true)
		require.True(t, place.Refused(err), "%v", err)
		require.ErrorContains(t, err, "sales.csv")
		require.NotErrorIs(t, err, place.ErrNotWhole)
		err = p.Delete(t.Context(), "old.csv")
		require.True(t, place.Refused(err), "%v", err)
		require.ErrorContains(t, err, "old.csv")
		require.True(t, place.Refused(p.Discard(t.Context(), "sales.csv", 0)))
		probed := p.Probe(t.Context())
		require.ErrorContains(t, probed, "writing a file failed")
		require.ErrorContains(t, probed, "right to create files")
		_, err = p.Upload(t.Context(), file("sales.csv", 2, "x"), noKeep)
		require.ErrorContains(t, err, "sales.csv")
		if r.config.Kind != place.KindFTP && r.config.Kind != place.KindFTPS { // This server replies 450 to STOR.
			require.True(t, place.Refused(err), "%v", err)
			require.True(t, place.Refused(probed), "%v", probed)
		}

		r.faults.readOnly.Store(false)
		require.NoError(t, p.Reveal(t.Context(), f, token, true))
		r.requireFile(t, "sales.csv", "x")
	})
}

func TestPlace_ReconnectsAfterAnIdleConnectionHasDied(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("a/sales.csv", 1, "x")
		token := upload(t, p, f)
		r.faults.proxy.cut()
		require.NoError(t, p.Verify(t.Context(), f, token, true))
		r.faults.proxy.cut()
		require.NoError(t, p.Reveal(t.Context(), f, token, false))
		r.faults.proxy.cut()
		require.NoError(t, p.Delete(t.Context(), f.Name))
		require.Empty(t, r.files())
	})
}

func TestPlace_ServerIsAway(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		if r.config.Kind == place.KindS3 {
			t.Skip("the client tries for seconds")
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		r.config.Address = listener.Addr().String()
		_, err = r.open(t).Upload(t.Context(), file("sales.csv", 1, "x"), noKeep)
		require.ErrorContains(t, err, "connect to "+r.config.Address)
		require.False(t, place.Refused(err))
	})
}

func TestPlace_WrongPassword(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		if r.config.Kind == place.KindS3 {
			t.Skip("gofakes3 checks no signatures")
		}
		r.config.Password = newSecret("wrong-horse")
		err := r.open(t).Probe(t.Context())
		require.True(t, place.Refused(err), "%v", err)
		require.ErrorContains(t, err, `user "reports"`)
		require.NotContains(t, err.Error(), "horse")
	})
}

func TestReveal_ServerRefusesToRenameOntoAFile(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		r.faults.keepsOld.Store(true)
		if r.config.Kind == place.KindSFTP && r.faults.posix {
			r.faults.keepsOld.Store(false) // posix-rename@openssh.com never refuses it.
		}
		p := r.open(t)
		r.write("sales.csv", "old")
		f := file("sales.csv", 1, "new")
		token := upload(t, p, f)
		require.ErrorIs(t, p.Reveal(t.Context(), f, token, false), place.ErrExists)
		r.requireFile(t, "sales.csv", "old")
		require.NoError(t, p.Reveal(t.Context(), f, token, true))
		r.requireFile(t, "sales.csv", "new")
	})
}

func TestUpload_ReplyIsLostAfterTheTransfer(t *testing.T) {
	t.Parallel()
	eachFTP(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		r.faults.cutsStored.Store(true)
		f := file("sales.csv", 1, large(1<<20))
		token := upload(t, p, f)
		require.False(t, r.faults.cutsStored.Load(), "the reply was lost")
		require.NoError(t, p.Verify(t.Context(), f, token, true))

		// A lost reply and lost bytes together are an error.
		r.faults.cutsStored.Store(true)
		r.faults.loses.Store(true)
		_, err := p.Upload(t.Context(), f, noKeep)
		require.Error(t, err)
		require.False(t, place.Refused(err))
	})
}

func TestUpload_FileOfAnEndedClientAppearsLate(t *testing.T) {
	t.Parallel()
	eachFTP(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		f := file("sales.csv", 1, "x")
		upload(t, p, f)
		r.faults.late.Store(true)
		deliver(t, p, f)
		require.False(t, r.faults.late.Load(), "the file appeared")
		r.requireFile(t, "sales.csv", "x")
		require.Equal(t, []string{"sales.csv"}, r.files())
	})
}

func TestPlace_ClosedOneFails(t *testing.T) {
	t.Parallel()
	eachServer(t, func(r *rig) {
		t := r.t
		if r.config.Kind == place.KindS3 {
			t.Skip("its client has no connection of its own")
		}
		p, err := place.Open(t.Context(), r.config)
		require.NoError(t, err)
		require.NoError(t, p.Probe(t.Context()))
		require.NoError(t, p.Close())
		require.NoError(t, p.Close())
		require.ErrorContains(t, p.Delete(t.Context(), "sales.csv"), "closed")
	})
}

func TestPlace_UnknownHostKey(t *testing.T) {
	t.Parallel()
	r := newSFTPRig(t, true)
	r.config.HostKey = newHostKey(t)
	err := r.open(t).Probe(t.Context())
	require.True(t, place.Refused(err))
	require.ErrorContains(t, err, "is not in host_key")
	require.ErrorContains(t, err, "SHA256:")

	right := newSFTPRig(t, true)
	right.config.HostKey = newHostKey(t) + right.config.HostKey
	require.NoError(t, right.open(t).Probe(t.Context()), "one of several keys")
}

func TestPlace_UnknownCertificate(t *testing.T) {
	t.Parallel()
	for _, r := range []*rig{newFTPRig(t, place.KindFTPS, place.Options{}), newS3Rig(t).rig} {
		r.config.CA = ""
		err := r.open(t).Probe(t.Context())
		require.True(t, place.Refused(err), "%v", err)
		require.ErrorContains(t, err, "set ca to")
	}
}

func TestPlace_DirectoryMustExist(t *testing.T) {
	t.Parallel()
	p, err := place.Open(t.Context(), place.Config{Kind: place.KindDir, Address: t.TempDir() + "/not/mounted"})
	require.NoError(t, err)
	err = p.Probe(t.Context())
	require.True(t, place.Refused(err))
	require.ErrorContains(t, err, "does not exist")
}

func TestPlace_UsesTheKeyOfAnSFTPUser(t *testing.T) {
	t.Parallel()
	for _, passphrase := range []string{"", "open sesame"} {
		r := newSFTPRig(t, true)
		r.config.Key, r.config.Password = newKey(t, r, passphrase), newSecret(passphrase)
		require.NoError(t, r.open(t).Probe(t.Context()))
	}
}
