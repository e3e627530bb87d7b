// Command peers measures one task queue at one thing, see package queue.
package main

import "adsync/bench/peers/queue"

func main() { queue.Main(map[string]queue.Queue{"asynq": asynqQueue{}, "river": riverQueue{}}) }
