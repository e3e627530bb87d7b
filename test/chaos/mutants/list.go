package mutants

import (
	"slices"

	"adsync/test/patch"
)

// withoutSweep removes the sweep. The sweep repairs the damage that some other mechanisms prevent, and so hides their
// loss: the mutants of those also lack the sweep, and the sweep has its own mutant.
var withoutSweep = patch.Edit{
	File:    "producer/sweep.go",
	Find:    "	return errors.Join(s.sweepFirst(ctx), s.sweepSent(ctx))\n",
	Replace: "	return nil\n",
}

// All are the mutants.
var All = slices.Concat(ofFiles, ofJobs, ofFloors, ofTogether, []Mutant{
	{
		Name: "commit-ahead", Breaks: "the last offset is committed instead of the watermark",
		Edits: []patch.Edit{{
			File:    "base/broker/watermark.go",
			Find:    "	if len(w.pending) > 0 {\n		return w.pending[0].offset\n	}\n	return w.next\n",
			Replace: "	return w.next\n",
		}, withoutSweep},
		Scenarios: []string{"consumer-killed-after-call", "consumer-killed"},
	},
	{
		Name: "done-before-outcome", Breaks: "the offset is done before the outcome is written",
		Edits: []patch.Edit{{
			File:    "consumer/outcomes.go",
			Find:    "	failpoint.Hit(\"consumer.outcomes_gathered\")\n",
			Replace: "	for _, f := range batch {\n		f.message.Done()\n	}\n	failpoint.Hit(\"consumer.outcomes_gathered\")\n",
		}, withoutSweep},
		Scenarios: []string{"consumer-killed-with-outcomes"},
	},
	{
		Name: "abandoned-is-done", Breaks: "what is left to the next owner of a partition is committed",
		Edits: []patch.Edit{{
			File:    "consumer/intake.go",
			Find:    "	p.c.metrics.end(p.name, endAbandoned)\n	message.Abandon()\n",
			Replace: "	p.c.metrics.end(p.name, endAbandoned)\n	message.Done()\n",
		}, withoutSweep},
		Scenarios: []string{"consumers-stopped-in-slow-work", "rolling-restart"},
	},
	{
		Name: "no-epoch-lock", Breaks: "the leader's row is checked, but not locked, by a leader's writes",
		Edits: []patch.Edit{{
			File:    "base/store/leader/leader.go",
			Find:    "lockLease(tx, l, d.Dialect().Share())",
			Replace: "lockLease(tx, l, \"\")",
		}, {
			File:    "base/store/leader/leader.go",
			Find:    "l.holder = ?\" + guard.Where + d.Dialect().Share()",
			Replace: "l.holder = ?\" + guard.Where",
		}},
		Scenarios: []string{"leader-stuck-in-a-write"},
	},
	{
		Name: "no-epoch-guard", Breaks: "a deposed leader's writes are taken",
		Edits: []patch.Edit{
			{
				File:    "base/store/leader/leader.go",
				Find:    "\" WHERE l.id = 1 AND l.epoch = ? AND l.holder = ?\" + guard.Where + d.Dialect().Share()",
				Replace: "\" WHERE l.id = 1 AND l.epoch >= ? AND l.holder <> CONCAT('-', ?)\" + guard.Where + d.Dialect().Share()",
			},
			{
				File: "base/store/leader/leader.go",
				Find: "return \"UPDATE \" + table + \" JOIN leader ON leader.id = 1 AND leader.epoch = ? AND leader.holder = " +
					"? SET \" +",
				Replace: "return \"UPDATE \" + table + \" JOIN leader ON leader.id = 1 AND leader.epoch >= ? AND leader.holder " +
					"<> CONCAT('-', ?) SET \" +",
			},
			{
				File:    "base/store/leader/leader.go",
				Find:    "	err := tx.Raw(\"SELECT 1 FROM leader WHERE id = 1 AND epoch = ? AND holder = ?\"+lock, ",
				Replace: "	err := tx.Raw(\"SELECT 1 FROM leader WHERE id = 1 AND epoch >= ? AND holder <> CONCAT('-', ?)\"+lock, ",
			},
		},
		Scenarios: []string{"leader-paused", "leader-paused-in-transaction"},
	},
	{
		Name: "notice-deleted-first", Breaks: "a notice is deleted before it is in Kafka",
		Edits: []patch.Edit{{
			File: "producer/notice/notice.go",
			Find: "	failpoint.Hit(\"producer.notices_read\")\n",
			Replace: "	if err := n.Store.DeleteNotices(ctx, notices); err != nil {\n		return err\n	}\n" +
				"	failpoint.Hit(\"producer.notices_read\")\n",
		}},
		Scenarios: []string{"leader-paused-with-outcomes"},
	},
	{
		Name: "no-delivery-fence", Breaks: "an outcome of an older delivery is taken",
		Edits: []patch.Edit{{
			File:    "base/store/ledger/outcome.go",
			Find:    "Where: \"t.delivery = o.delivery AND \" + where,",
			Replace: "Where: where,",
		}},
		Scenarios: []string{"consumer-paused-in-a-failing-pull"},
	},
	{
		Name: "end-states-reopened", Breaks: "an outcome changes a subtask that has ended",
		Edits: []patch.Edit{{
			File:    "base/store/ledger/outcome.go",
			Find:    "Where: \"t.delivery = o.delivery AND \" + where,",
			Replace: "Where: \"t.delivery = o.delivery\",",
		}},
		Scenarios: []string{"consumer-paused-with-outcomes"},
	},
	{
		Name: "no-coverage-fence", Breaks: "a pull writes over a later one's rows",
		Edits: []patch.Edit{{
			File:    "base/store/results/fence.go",
			Find:    "if r.ClaimedVersion > c.Version || (r.ClaimedVersion == c.Version && r.ClaimedBy != c.PullID) {",
			Replace: "if r.ClaimedVersion > c.Version && r.ClaimedVersion < 0 {",
		}},
		Scenarios: []string{"consumer-paused-in-a-pull", "same-subtask-at-once"},
	},
	{
		Name: "version-by-planned-time", Breaks: "a pull's version is the moment its run was made",
		Edits: []patch.Edit{{
			File:    "base/store/results/fence.go",
			Find:    "	version := max(k.ReadAt.UnixMicro(), k.Claimed+1)\n",
			Replace: "	version := runID >> 22 * 1000\n",
		}},
		Scenarios: []string{"older-order-pulls-last"},
	},
	{
		Name: "cursor-before-kafka", Breaks: "the run's cursor moves before its messages are written",
		Edits: []patch.Edit{{
			File: "producer/fanout.go",
			Find: "	if err := f.send(work, parts); err != nil {\n		return false, " +
				"err\n	}\n	failpoint.Hit(\"producer.fan_out.sent\")\n",
			Replace: "	if b.cursor != run.Cursor {\n		if err := f.loop.store.AdvanceCursor(work, f.loop.lease, run.ID, " +
				"run.Cursor, b.cursor, run.Offsets, f.note); err != nil {\n			return false, err\n		}\n		run.Cursor = " +
				"b.cursor\n	}\n" +
				"	failpoint.Hit(\"producer.fan_out.sent\")\n	if err := f.send(work, parts); err != nil {\n		return false, " +
				"err\n	}\n",
		}, withoutSweep},
		Scenarios: []string{"leader-killed-after-kafka", "kafka-restarted"},
	},
	{
		Name: "send-before-rows", Breaks: "messages are written before their rows",
		Edits: []patch.Edit{{
			File: "producer/fanout.go",
			Find: "	allNew, err := f.loop.store.AddSubtasks(work, f.loop.lease, run.ID, b.parts, " +
				"f.loop.waiting.Now())\n	if err != nil {\n",
			Replace: "	if err := f.send(work, b.parts); err != nil {\n		return false, " +
				"err\n	}\n	failpoint.Hit(\"producer.fan_out.rows_written\")\n	allNew, err := f.loop.store.AddSubtasks(work, " +
				"f.loop.lease, run.ID, b.parts, f.loop.waiting.Now())\n	if err != nil {\n",
		}, {
			File: "producer/fanout.go",
			Find: "	if err := f.send(work, parts); err != nil {\n		return false, " +
				"err\n	}\n	failpoint.Hit(\"producer.fan_out.sent\")\n",
			Replace: "	_ = parts\n",
		}, withoutSweep},
		Scenarios: []string{"leader-killed-after-rows", "consumer-killed"},
	},
	{
		Name: "left-behind-not-sent", Breaks: "a new leader sends only rows that it made itself",
		Edits: []patch.Edit{{
			File:    "producer/fanout.go",
			Find:    "		if parts, err = f.unsent(work, b); err != nil {\n			return false, err\n		}\n",
			Replace: "		if run.CreatedAt.Before(f.loop.waiting.Now().Add(-8 * time.Second)) {\n			parts = nil\n		}\n",
		}, withoutSweep},
		Scenarios: []string{"leader-killed-after-rows"},
	},
	{
		Name: "retries-only-in-redis", Breaks: "what Redis forgot of the waiting retries nobody looks for",
		Edits: []patch.Edit{{
			File:    "producer/due.go",
			Find:    "	return errors.Join(err, w.scanDue(ctx))\n",
			Replace: "	if w.scanned.IsZero() {\n		return errors.Join(err, w.scanDue(ctx))\n	}\n	return err\n",
		}},
		Scenarios: []string{"redis-flushall", "redis-killed"},
	},
	{
		Name: "partial-deletes", Breaks: "rows that a pull lacks are deleted though its pages disagreed",
		Edits: []patch.Edit{{
			File:    "base/store/results/report.go",
			Find:    "	if !w.Whole || w.FromHour > 0 {\n		return nil\n	}\n	stale := ",
			Replace: "	if w.FromHour > 0 {\n		return nil\n	}\n	stale := ",
		}},
		Scenarios: []string{"platform-loses-rows"},
	},
	{
		Name: "empty-answers-believed", Breaks: "an answer without rows deletes what was spent",
		Edits: []patch.Edit{{
			File:    "base/store/results/evidence.go",
			Find:    "		v := w.Judging.judge(a, others[a.Day], w.Confirmed)\n		o.apply(a, v)\n",
			Replace: "		v, _ := Verdict{Believed: w.Confirmed}, evidence\n		o.apply(a, v)\n",
		}},
		Scenarios: []string{"platform-answers-empty"},
	},
	{
		Name: "job-name-not-stored", Breaks: "the name of a file's job is not stored before the job is created",
		Edits: []patch.Edit{{
			File:    "media/pull/file.go",
			Find:    "		if err := f.save(ctx); err != nil {\n			return err\n		}\n		failpoint.Hit(\"pull.files.named\")\n",
			Replace: "		failpoint.Hit(\"pull.files.named\")\n",
		}},
		Scenarios: []string{"files-consumers-killed"},
	},
	{
		Name: "job-not-looked-for", Breaks: "a job that may exist is not looked for by its name",
		Edits: []patch.Edit{{
			File:    "media/pull/file.go",
			Find:    "	case f.report.Files.Find == nil:\n",
			Replace: "	case f.Clock != nil:\n",
		}},
		Scenarios: []string{"files-consumers-killed"},
	},
	{
		Name: "file-size-not-compared", Breaks: "a file that is cut off is taken for the whole file",
		Edits: []patch.Edit{{
			File:    "media/pull/csv.go",
			Find:    "	if job.Size >= 0 && counted.n != job.Size {\n",
			Replace: "	if job.Size >= 0 && counted.n < 0 {\n",
		}},
		Scenarios: []string{"files-consumers-killed"},
	},
	{
		Name: "count-what-came", Breaks: "outcomes are counted whether they changed their row or not",
		Edits: []patch.Edit{{
			File: "base/store/ledger/outcome.go",
			Find: "		if delivery, ok := marked[o.Key]; ok && delivery == o.Delivery {\n			all.outcomes = " +
				"append(all.outcomes, o)\n		}\n",
			Replace: "		_ = marked\n		all.outcomes = append(all.outcomes, o)\n",
		}},
		Scenarios: []string{"consumer-paused-with-outcomes", "mariadb-commit-unknown"},
	},
	{
		Name: "resend-by-age", Breaks: "what waits for ten seconds is sent again",
		Edits: []patch.Edit{{
			File:    "producer/sweep.go",
			Find:    "		if !s.sure(run.ID, judgeRun(run.Offsets, partitions)) {\n",
			Replace: "		_ = partitions\n		if s.waiting.Now().Sub(run.CreatedAt) < 10*time.Second {\n",
		}},
		Scenarios: []string{"platform-slow"},
	},
	{
		Name: "no-sweep", Breaks: "nobody looks for lost messages",
		Edits:     []patch.Edit{withoutSweep},
		Scenarios: []string{"kafka-topics-lost"},
	},
	{
		Name: "ticks-not-unique", Breaks: "the ledger takes a moment twice",
		Edits: []patch.Edit{{
			File:    "migrations/mysql/data/0001_data.sql",
			Find:    "  PRIMARY KEY (task_id, planned_at),\n  KEY run (run_id)\n",
			Replace: "  KEY task (task_id, planned_at),\n  KEY run (run_id)\n",
		}},
		Scenarios: []string{"mariadb-commit-unknown"},
	},
	{
		Name: "ticks-without-runs", Breaks: "a tick whose leader died before it made the run stays without one",
		Edits: []patch.Edit{{
			File:    "producer/plan.go",
			Find:    "	left, err := p.runsForTicks(ctx, p.repaired)\n",
			Replace: "	left, err := 0, error(nil)\n",
		}},
		Scenarios: []string{"leader-killed-after-ticks"},
	},
	{
		Name: "summary-marks-wiped", Breaks: "a summary's rebuild clears marks that changed meanwhile",
		Edits: []patch.Edit{{
			File:    "base/store/summaries/summary.go",
			Find:    "pairs = append(pairs, m.accountID, m.dirty)",
			Replace: "pairs = append(pairs, m.accountID, m.accountID)",
		}, {
			File:    "base/store/summaries/summary.go",
			Find:    "[]string{\"account_id\", \"dirty\"}",
			Replace: "[]string{\"account_id\", \"account_id\"}",
		}},
		Scenarios: []string{"summary-overtaken"},
	},
	{
		Name:   "cancel-left-to-the-leader",
		Breaks: "a run that consumers end before the leader has marked it is none of the cancel's",
		Edits: []patch.Edit{{
			File:    "base/store/ledger/endrun.go",
			Find:    "	return endCancelled(tx, runs, at)\n",
			Replace: "	return nil\n",
		}},
		Scenarios: []string{"cancelled", "cancelled", "cancelled"}, // a consumer must end the run before the leader marks it
	},
	{
		Name: "limits-not-shared", Breaks: "each process takes the whole of a limit for itself", Overruns: true,
		Edits: []patch.Edit{{
			File: "base/ratelimit/grant/redis.go",
			Find: "func (r *Redis) name(k Key, kind string) string { return r.keys.Of(k.Media, k.parts(kind)...) }\n",
			Replace: "func (r *Redis) name(k Key, kind string) string { return r.keys.Of(k.Media, append(k.parts(kind), " +
				"process)...) }\n\nvar process = clock.Mark().Format(time.RFC3339Nano)\n",
		}},
		Scenarios: []string{"consumer-killed", "rebalance-storm"},
	},
})
