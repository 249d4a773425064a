package main

import (
	"encoding/json"
)

// slackNs covers the rounding of deadlines to milliseconds.
const slackNs = 20_000_000

const nsPerMs = 1_000_000

// model describes how one kind of key behaves. Values are comparable, so equal values are equal states.
type model struct {
	name string
	init any
	// step returns the value after a call, and whether the call may return its result on this value. A call without a
	// result is always possible.
	step func(value any, c *call) (any, bool)
	// recover returns the value after the store lost its newest changes and went back to `old`, and whether a read of
	// it returns the result of the call. `newest` is the value before the loss.
	recover func(old, newest any, c *call) (any, bool)
}

// readsOnly names the operations that change nothing.
var readsOnly = map[string]bool{
	"kv_get": true, "counter_get": true, "config_get": true, "task_locate": true,
	"kv_recover": true, "counter_recover": true, "config_recover": true, "task_recover": true,
}

// mayRepeat names the changes that the backend sends again when the first response does not arrive. Others may act in
// between: a raise to 2 is followed by a change to 3, and the repeated raise returns 3.
var mayRepeat = map[string]bool{"config_raise": true, "lock_extend": true}

// recoveries names the operations that read a value after a loss.
var recoveries = map[string]bool{
	"kv_recover": true, "counter_recover": true, "config_recover": true, "task_recover": true, "lock_recover": true,
	"unique_recover": true,
}

var kvModel = &model{name: "kv", init: kvValue{}, step: stepKv, recover: recoverBy(stepKv, "kv_get")}
var lockModel = &model{name: "lock", init: lockValue{}, step: stepLock, recover: recoverLock}
var counterModel = &model{
	name: "counter", init: int64(0), step: stepCounter, recover: recoverBy(stepCounter, "counter_get"),
}
var configModel = &model{
	name: "config", init: configValue{}, step: stepConfig, recover: recoverBy(stepConfig, "config_get"),
}
var taskModel = &model{name: "task", init: taskValue{}, step: stepTask, recover: recoverTask}

var uniqueModel = &model{name: "unique", init: "", step: stepUnique, recover: recoverBy(stepUnique, "unique_keep")}

var modelOf = map[string]*model{
	"kv_set": kvModel, "kv_get": kvModel, "kv_delete": kvModel, "kv_recover": kvModel,
	"lock_acquire": lockModel, "lock_release": lockModel, "lock_extend": lockModel, "lock_recover": lockModel,
	"counter_add": counterModel, "counter_get": counterModel, "counter_recover": counterModel,
	"config_register": configModel, "config_put": configModel, "config_raise": configModel, "config_get": configModel,
	"config_recover": configModel,
	"task_submit":    taskModel, "task_lease": taskModel, "task_ack": taskModel, "task_release": taskModel,
	"task_nack": taskModel, "task_cancel": taskModel, "task_locate": taskModel, "task_recover": taskModel,
	"unique_keep": uniqueModel, "unique_replace": uniqueModel, "unique_cancel": uniqueModel, "unique_recover": uniqueModel,
}

func recoverBy(step func(any, *call) (any, bool), read string) func(any, any, *call) (any, bool) {
	return func(old, _ any, c *call) (any, bool) {
		as := *c
		as.Operation = read
		return step(old, &as)
	}
}

// text returns a JSON string, "" for null.
func text(raw json.RawMessage) string {
	var value *string
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return ""
	}
	return *value
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

func number(raw json.RawMessage) int64 {
	var value int64
	if json.Unmarshal(raw, &value) != nil {
		return -1 << 62
	}
	return value
}

// later returns a deadline that a call set: not before the first value, and passed after the second.
func later(c *call, ms int64) (int64, int64) {
	least := c.Start + ms*nsPerMs - slackNs
	if c.End == never {
		return least, never
	}
	return least, c.End + ms*nsPerMs + slackNs
}

func max(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

// ── Key-value pairs ──────────────────────────────────────────────────────────────────────────────────────────────────

type kvValue struct {
	isSet bool
	text  string
	// The value ends between these two; never if it has no time to live.
	endsFrom, endsBy int64
}

func stepKv(value any, c *call) (any, bool) {
	at := value.(kvValue)
	maySet := at.isSet && c.Start <= at.endsBy
	mayUnset := !at.isSet || c.End >= at.endsFrom
	switch c.Operation {
	case "kv_set":
		next := kvValue{true, c.Args.Value, never, never}
		if c.Args.TTLMs != nil {
			next.endsFrom, next.endsBy = later(c, *c.Args.TTLMs)
		}
		return next, true
	case "kv_delete":
		if !c.isKnown() {
			return kvValue{}, true
		}
		if string(c.Result) == "true" {
			return kvValue{}, maySet
		}
		return kvValue{}, mayUnset
	default:
		if isNull(c.Result) {
			return kvValue{}, mayUnset
		}
		return at, maySet && at.text == text(c.Result)
	}
}

// ── Locks ────────────────────────────────────────────────────────────────────────────────────────────────────────────

type lockValue struct {
	isHeld bool
	// 0: the call that acquired it got no reply.
	token            int64
	endsFrom, endsBy int64
	// The greatest token that a caller received.
	last int64
}

func stepLock(value any, c *call) (any, bool) {
	at := value.(lockValue)
	free := lockValue{last: at.last}
	mayHeld := at.isHeld && c.Start <= at.endsBy
	mayFree := !at.isHeld || c.End >= at.endsFrom
	isOwn := at.isHeld && at.token != 0 && at.token == c.Args.Token
	switch c.Operation {
	case "lock_acquire":
		from, by := later(c, c.Args.HoldMs)
		if !c.isKnown() {
			if mayFree {
				return lockValue{true, 0, from, by, at.last}, true
			}
			return at, true
		}
		if isNull(c.Result) {
			return at, mayHeld
		}
		token := number(c.Result)
		return lockValue{true, token, from, by, token}, mayFree && token > at.last
	case "lock_extend":
		from, by := later(c, c.Args.HoldMs)
		extended := lockValue{at.isHeld, at.token, max(at.endsFrom, from), max(at.endsBy, by), at.last}
		if !c.isKnown() {
			if isOwn {
				return extended, true
			}
			return at, true
		}
		if string(c.Result) == "true" {
			return extended, isOwn && mayHeld
		}
		if isOwn {
			return free, mayFree
		}
		return at, true
	default: // lock_release
		if !c.isKnown() {
			if isOwn {
				return free, true
			}
			return at, true
		}
		if string(c.Result) == "true" {
			return free, isOwn && mayHeld
		}
		if isOwn {
			return free, mayFree
		}
		return at, true
	}
}

// recoverLock: locks have no read, so the recovery tries to acquire. No token comes twice, also after a loss.
func recoverLock(old, newest any, c *call) (any, bool) {
	at := old.(lockValue)
	at.last = newest.(lockValue).last
	as := *c
	as.Operation = "lock_acquire"
	return stepLock(at, &as)
}

// ── Counters ─────────────────────────────────────────────────────────────────────────────────────────────────────────

func stepCounter(value any, c *call) (any, bool) {
	at := value.(int64)
	if c.Operation == "counter_add" {
		sum := at + c.Args.Delta
		return sum, !c.isKnown() || sum == number(c.Result)
	}
	return at, at == number(c.Result)
}

// ── Configs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type configValue struct {
	exists bool
	gen    int64
	config string
}

func stepConfig(value any, c *call) (any, bool) {
	at := value.(configValue)
	switch c.Operation {
	case "config_register":
		if at.exists {
			return at, true
		}
		return configValue{true, 0, c.Args.Config}, true
	case "config_put":
		stored := configValue{true, c.Args.ExpectGen + 1, c.Args.Config}
		matches := at.exists && at.gen == c.Args.ExpectGen
		switch {
		case !c.isKnown() && !matches:
			return at, true
		case !c.isKnown():
			return stored, true
		case isNull(c.Result): // Another generation, or no record.
			return at, !matches
		}
		return stored, matches && number(c.Result) == stored.gen
	case "config_raise":
		raised := configValue{at.exists, max(at.gen, c.Args.Above+1), at.config}
		switch {
		case !at.exists:
			return at, !c.isKnown() || isNull(c.Result)
		case !c.isKnown():
			return raised, true
		}
		return raised, number(c.Result) == raised.gen
	default:
		if isNull(c.Result) {
			return at, !at.exists
		}
		var row struct {
			Gen    int64  `json:"gen"`
			Config string `json:"config"`
		}
		ok := json.Unmarshal(c.Result, &row) == nil
		return at, ok && at.exists && row.Gen == at.gen && row.Config == at.config
	}
}

// ── Tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────────

type taskValue struct {
	// "" for a task that is not stored.
	place string
	token int64
	// The token that acknowledged it.
	acked int64
	// The greatest token that a caller received.
	last int64
}

func stepTask(value any, c *call) (any, bool) {
	at := value.(taskValue)
	isOwn := at.place == "in_flight" && at.token == c.Args.Token
	result := text(c.Result)
	isLost := result == "lease_lost" || result == "not_issued"
	settled := func(place, expected string) (any, bool) {
		next := taskValue{place, 0, at.acked, at.last}
		switch {
		case !c.isKnown() && isOwn:
			return next, true
		case !c.isKnown():
			return at, true
		case isLost:
			return at, !isOwn
		}
		return next, isOwn && result == expected
	}
	switch c.Operation {
	case "task_submit":
		if at.place != "" || at.last != 0 { // A task is submitted once.
			return at, false
		}
		return taskValue{"pending", 0, 0, 0}, true
	case "task_lease":
		token := c.Args.Token
		return taskValue{"in_flight", token, 0, token}, (at.place == "pending" || at.place == "scheduled") && token > at.last
	case "task_ack":
		if at.acked != 0 && at.acked == c.Args.Token && at.place == "" {
			return at, !isLost
		}
		next, ok := settled("", "ok")
		if after := next.(taskValue); ok && isOwn && after.place == "" {
			after.acked = c.Args.Token
			return after, true
		}
		return next, ok
	case "task_release":
		return settled("pending", "ok")
	case "task_nack":
		if c.Args.Value == "permanent" {
			return settled("dead", "dead")
		}
		return settled("scheduled", "scheduled")
	case "task_cancel":
		isLive := at.place != "" && at.place != "dead"
		cancelled := taskValue{"", 0, at.acked, at.last}
		switch {
		case !c.isKnown() && isLive, result == "cancelled":
			return cancelled, isLive
		case !c.isKnown():
			return at, true
		case result == "dead":
			return at, at.place == "dead"
		default:
			return at, at.place == ""
		}
	default:
		if at.place == result {
			return at, true
		}
		// A retry that is due becomes pending with the next reserve.
		isDue := at.place == "scheduled" && result == "pending"
		isLeased := (at.place == "pending" || at.place == "scheduled") && result == "in_flight" && c.mayLease
		return at, isDue || isLeased
	}
}

func recoverTask(old, newest any, c *call) (any, bool) {
	at := old.(taskValue)
	at.last = newest.(taskValue).last
	as := *c
	as.Operation = "task_locate"
	return stepTask(at, &as)
}

// ── Unique keys of tasks ─────────────────────────────────────────────────────────────────────────────────────────────

// stepUnique: the value is the id of the task that has the key, "" if none has it. Each id is submitted once.
func stepUnique(value any, c *call) (any, bool) {
	holder, id, result := value.(string), c.Args.Value, text(c.Result)
	switch c.Operation {
	case "unique_keep":
		if holder != "" {
			return holder, !c.isKnown() || result == holder
		}
		return id, !c.isKnown() || isNull(c.Result)
	case "unique_replace":
		return id, !c.isKnown() || result == holder
	default: // unique_cancel
		if holder != id {
			return holder, !c.isKnown() || result == "not_found"
		}
		return "", !c.isKnown() || result == "cancelled"
	}
}
