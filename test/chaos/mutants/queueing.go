package mutants

import "adsync/test/patch"

// ofJobs are the mutants of the job queue.
var ofJobs = []Mutant{
	{
		Name: "jobs-answered-early", Breaks: "a publication is answered before it is committed",
		Edits: []patch.Edit{{
			File:    "jobs/queue.go",
			Find:    "	if err := q.publications.do(ctx, jobs...); err != nil {\n		return nil, err\n	}\n",
			Replace: "	go func() { _ = q.publications.do(context.WithoutCancel(ctx), jobs...) }()\n",
		}},
		Scenarios: []string{"jobs-killed", "jobs-mariadb-restarted"},
	},
	{
		Name: "jobs-failure-is-success", Breaks: "a publication that failed is answered as if it were committed",
		Edits: []patch.Edit{{
			File: "jobs/queue.go",
			Find: "	if err := q.store.Publish(ctx, jobs); err != nil {\n		return err\n	}\n	failpoint.Hit(\"jobs.published\")\n",
			Replace: "	if err := q.store.Publish(ctx, jobs); err != nil {\n		return nil\n	}\n" +
				"	failpoint.Hit(\"jobs.published\")\n",
		}},
		Scenarios: []string{"jobs-mariadb-restarted", "jobs-commits-cut"},
	},
	{
		Name: "jobs-acknowledged-early", Breaks: "an acknowledgement is answered before it is committed",
		Edits: []patch.Edit{{
			File: "jobs/consume.go",
			Find: "		if err := a.queues.acks.do(c.Request.Context(), jobstore.Key{Queue: queueOf(c).ID(), ID: id}); " +
				"err != nil {\n" +
				"			a.failed(c, \"acknowledge a job\", err)\n			return\n		}\n",
			Replace: "		go func(ctx context.Context, k jobstore.Key) { _ = a.queues.acks.do(ctx, k) }(context.WithoutCancel(" +
				"c.Request.Context()), jobstore.Key{Queue: queueOf(c).ID(), ID: id})\n",
		}, {
			File: "jobs/consume.go", Find: "import (\n	\"encoding/json\"\n",
			Replace: "import (\n	\"context\"\n	\"encoding/json\"\n",
		}},
		Scenarios: []string{"jobs-killed", "jobs-mariadb-restarted"},
	},
	{
		Name: "jobs-claimed-without-a-lock", Breaks: "two processes claim the same job",
		Edits: []patch.Edit{{
			File: "base/store/jobstore/claim.go", Find: "		lock = \" FOR UPDATE SKIP LOCKED\"\n", Replace: "		lock = \"\"\n",
		}},
		Scenarios: []string{"jobs-rolling", "jobs-redis-gone"},
	},
	{
		Name: "jobs-claims-never-lapse", Breaks: "a job whose consumer died is not delivered again",
		Edits: []patch.Edit{{
			File: "base/store/jobstore/claim.go", Find: "	return until.Add(s.backoffOf(j).After(j.failedClaims()))\n",
			Replace: "	return until.Add(24 * time.Hour)\n",
		}},
		Scenarios: []string{"jobs-killed"},
	},
	{
		Name: "jobs-lost-with-their-answer", Breaks: "jobs whose consumer is gone are deleted instead of returned",
		Edits: []patch.Edit{{
			File: "jobs/desk.go", Find: "	if err := d.store.Return(ctx, jobs, now); err != nil {\n",
			Replace: "	var keys []jobstore.Key\n	for _, j := range jobs {\n		keys = append(keys, j.Key())\n	}\n" +
				"	if err := d.store.Ack(ctx, keys, now); err != nil {\n",
		}},
		Scenarios: []string{"jobs-clients-die"},
	},
	{
		Name: "jobs-any-claim-returned", Breaks: "a process that was paused returns a job that another consumer has",
		Edits: []patch.Edit{{
			File: "base/store/jobstore/claim.go",
			Find: "				\"WHERE queue_id = ? AND id = ? AND claims = ?\",\n" +
				"				[]any{PriorityMax - j.Priority, sqldb.At(now), int64(j.Queue), j.ID[:], j.Claims}, false)\n",
			Replace: "				\"WHERE queue_id = ? AND id = ?\",\n" +
				"				[]any{PriorityMax - j.Priority, sqldb.At(now), int64(j.Queue), j.ID[:]}, false)\n",
		}},
		Scenarios: []string{"jobs-paused"},
	},
	{
		Name: "jobs-not-looked-for", Breaks: "nobody looks for jobs that became ready",
		Edits: []patch.Edit{{
			File: "jobs/look.go", Find: "		if !r.LastTries() {\n			l.queues.desks.found(r)\n",
			Replace: "		if r.LastTries() {\n			l.queues.desks.found(r)\n",
		}},
		Scenarios: []string{"jobs-killed"},
	},
	{
		Name: "external-end-forgotten-early", Breaks: "how a subtask's job ended is forgotten before the ledger has it",
		Edits: []patch.Edit{{
			File: "jobs/external/follow.go",
			Find: "			t.refs[keyOf(w)] = task.JobRef(w.ID.String())\n",
			Replace: "			t.refs[keyOf(w)] = task.JobRef(w.ID.String())\n" +
				"			t.forget = append(t.forget, w.Key)\n",
		}},
		Scenarios: []string{"jobs-external"},
	},
	{
		Name: "external-job-made-again", Breaks: "each publication of an attempt of a subtask makes another job",
		Edits: []patch.Edit{{
			File: "jobs/external/handler.go", Find: "ID: idOf(work.Key, work.Attempt), ",
			Replace: "ID: jobstore.WatchedID(now, fmt.Sprint(idOf(work.Key, work.Attempt))), ",
		}},
		Scenarios: []string{"jobs-external"},
	},
}
