// Command porcupine judges histories of concurrent calls: it reports whether the calls of each key are linearizable.
//
// It reads the files of test/kit/history.ts that it is given, one for each client process on one machine, and writes
// one JSON object. A call without a result stays open to the end of the history. A call `…_recover` is the first read
// of a key after the store may have lost its newest changes: the value that it returns has to be that of a prefix of
// the history, and the acknowledged changes behind that prefix are counted as lost.
//
// Exit: 0, also with violations; 1 if a history cannot be read.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// finding is a key whose calls are not linearizable, or that took too long to decide.
type finding struct {
	Model string  `json:"model"`
	Key   string  `json:"key"`
	Calls []*call `json:"calls"`
}

type verdict struct {
	Calls      int            `json:"calls"`
	Unknown    int            `json:"unknown"`
	Keys       int            `json:"keys"`
	ByModel    map[string]int `json:"callsByModel"`
	Violations []finding      `json:"violations"`
	Undecided  []finding      `json:"undecided"`
	// Acknowledged changes that a recovery did not find, by model: the fewest that explain what it found.
	Lost map[string]int `json:"lost"`
	// The newest changes that every recovery found, and the oldest that it did not, to compare keys with each other.
	Cuts []cut `json:"cuts"`
}

// cut is what one recovery says of one key.
type cut struct {
	Key         string `json:"key"`
	RecoveredNs int64  `json:"recoveredNs"`
	// The start of the newest acknowledged change that is there, 0 if none.
	KeptStartNs int64 `json:"keptStartNs"`
	// The end of the oldest acknowledged change that is lost, 0 if none.
	LostEndNs int64 `json:"lostEndNs"`
	// How many acknowledged changes are lost.
	Lost int `json:"lost"`
}

func main() {
	timeout := flag.Duration("timeout", time.Minute, "for one key; beyond it the key is undecided")
	flag.Parse()
	calls := []*call{}
	for _, path := range flag.Args() {
		some, err := readHistory(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		calls = append(calls, some...)
	}
	groups, err := groupsOf(calls)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	result := judge(groups, *timeout)
	result.Calls = len(calls)
	for _, each := range calls {
		if !each.isKnown() {
			result.Unknown++
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(1)
	}
}

func judge(groups []*group, timeout time.Duration) verdict {
	result := verdict{
		Keys: len(groups), ByModel: map[string]int{}, Lost: map[string]int{},
		Violations: []finding{}, Undecided: []finding{}, Cuts: []cut{},
	}
	var lock sync.Mutex
	var all sync.WaitGroup
	queue := make(chan *group)
	for i := 0; i < runtime.NumCPU(); i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for each := range queue {
				outcome, cuts, lost := check(each, timeout)
				found := finding{each.model.name, each.key, each.calls}
				if outcome == porcupine.Illegal {
					found.Calls = counterexample(each, timeout)
				}
				lock.Lock()
				result.ByModel[each.model.name] += len(each.calls)
				result.Cuts = append(result.Cuts, cuts...)
				if lost > 0 {
					result.Lost[each.model.name] += lost
				}
				if outcome == porcupine.Illegal {
					result.Violations = append(result.Violations, found)
				}
				if outcome == porcupine.Unknown {
					result.Undecided = append(result.Undecided, found)
				}
				lock.Unlock()
			}
		}()
	}
	for _, each := range groups {
		queue <- each
	}
	close(queue)
	all.Wait()
	sort.Slice(result.Violations, func(i, j int) bool { return result.Violations[i].Key < result.Violations[j].Key })
	return result
}

// ── One key ──────────────────────────────────────────────────────────────────────────────────────────────────────────

// past is a value that a key had, and the ones before it.
type past struct {
	value any
	// The call that led to it, nil for the first value and for one that a recovery found.
	by    *call
	prev  *past
	count int
}

// state is the value of a key. Its past is kept where a recovery follows.
type state struct {
	value any
	past  *past
}

// porcupine returns the model for one search. The past of a state contains the values for which `keeps` returns true: a
// search keeps the few that decide, so that orders which differ in other values are equal states and are tried once.
func (m *model) porcupine(keeps func(value any) bool, skip int) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return state{m.init, &past{m.init, nil, nil, 1}} },
		Step: func(from, input, _ interface{}) (bool, interface{}) {
			at, c := from.(state), input.(*call)
			if recoveries[c.Operation] {
				next, _, ok := m.back(at, c, skip)
				return ok, next
			}
			value, ok := m.step(at.value, c)
			if !ok || value == at.past.value || !keeps(value) {
				return ok, state{value, at.past}
			}
			return ok, state{value, &past{value, c, at.past, at.past.count + 1}}
		},
		Equal: func(a, b interface{}) bool {
			one, other := a.(state), b.(state)
			return one.value == other.value && equalPast(one.past, other.past)
		},
	}
}

func equalPast(a, b *past) bool {
	for a != b {
		if a == nil || b == nil || a.count != b.count || a.value != b.value {
			return false
		}
		a, b = a.prev, b.prev
	}
	return true
}

// back returns an earlier value that explains what a recovery read, and where it was. Several may: a lock that is held
// may be held under each of its tokens. It is the newest one, after `skip` other values; the oldest one if there are
// fewer.
func (m *model) back(at state, c *call, skip int) (state, *past, bool) {
	var found *past
	var value any
	for each := at.past; each != nil; each = each.prev {
		next, ok := m.recover(each.value, at.value, c)
		if !ok || (found != nil && found.value == each.value) {
			continue
		}
		if found != nil {
			skip--
		}
		if skip < 0 {
			break
		}
		found, value = each, next
	}
	return state{value, &past{value, nil, nil, 1}}, found, found != nil
}

func operationsOf(calls []*call) []porcupine.Operation {
	operations := []porcupine.Operation{}
	for _, each := range calls {
		operations = append(operations, porcupine.Operation{Input: each, Call: each.Start, Return: each.End})
	}
	return operations
}

func everything(any) bool { return true }

// decisive returns whether a recovery of the key may go back to a value, and whether the key has a recovery.
func (g *group) decisive() (func(value any) bool, bool) {
	found := []*call{}
	for _, each := range g.calls {
		if recoveries[each.Operation] {
			found = append(found, each)
		}
	}
	return func(value any) bool {
		for _, each := range found {
			if _, ok := g.model.recover(value, value, each); ok {
				return true
			}
		}
		return false
	}, len(found) > 0
}

// check returns whether the calls are linearizable, and what recoveries lost in the order that was found.
func check(g *group, timeout time.Duration) (porcupine.CheckResult, []cut, int) {
	keeps, hasRecovery := g.decisive()
	if !hasRecovery {
		return porcupine.CheckOperationsTimeout(g.model.porcupine(keeps, 0), operationsOf(g.calls), timeout), nil, 0
	}
	for skip := 0; ; skip++ {
		outcome, info := porcupine.CheckOperationsVerbose(g.model.porcupine(keeps, skip), operationsOf(g.calls), timeout)
		if outcome == porcupine.Ok {
			cuts, lost := replay(g, skip, longest(info))
			return outcome, cuts, lost
		}
		// Each further one needs another change before the recovery.
		if outcome == porcupine.Unknown || skip == len(g.calls) {
			return outcome, nil, 0
		}
	}
}

func longest(info porcupine.LinearizationInfo) []porcupine.Operation {
	order := []porcupine.Operation{}
	for _, each := range info.PartialLinearizationsOperations()[0] {
		if len(each) > len(order) {
			order = each
		}
	}
	return order
}

// replay returns what each recovery lost, in an order of the calls that the model accepts.
func replay(g *group, skip int, order []porcupine.Operation) ([]cut, int) {
	cuts, lost := []cut{}, 0
	walk := g.model.porcupine(everything, skip)
	at := walk.Init()
	for _, operation := range order {
		c := operation.Input.(*call)
		if recoveries[c.Operation] {
			before := at.(state)
			_, kept, ok := g.model.back(before, c, skip)
			if !ok {
				panic("the order that was found is not one")
			}
			found := cut{Key: g.model.name + " " + g.key, RecoveredNs: c.End}
			if kept.by != nil && kept.by.isKnown() && isDefinite(c) {
				found.KeptStartNs = kept.by.Start
			}
			for each := before.past; each != kept; each = each.prev {
				// A change that began before the end of the kept one may have come before it. A call without a reply
				// has no end: a change that it replaced is not lost.
				if !each.by.isKnown() || (kept.by != nil && each.by.Start <= kept.by.End) {
					continue
				}
				lost++
				found.Lost++
				if found.LostEndNs == 0 || each.by.End < found.LostEndNs {
					found.LostEndNs = each.by.End
				}
			}
			cuts = append(cuts, found)
		}
		_, at = walk.Step(at, c, nil)
	}
	return cuts, lost
}

// isDefinite returns whether what a recovery read has one possible writer. A key without a value may never have had
// one.
func isDefinite(c *call) bool {
	switch c.Operation {
	case "counter_recover":
		return true
	case "kv_recover", "config_recover", "unique_recover":
		return !isNull(c.Result)
	}
	return false
}

// counterexample shortens a history that is not linearizable: it ends with the first result that cannot be explained,
// and has no read that is not needed. Changes stay, since a history without one of them is another history.
func counterexample(g *group, timeout time.Duration) []*call {
	isWrong := func(calls []*call) bool {
		outcome, _, _ := check(&group{g.model, g.key, calls}, timeout)
		return outcome == porcupine.Illegal
	}
	ends := []int64{}
	for _, each := range g.calls {
		if each.End != never {
			ends = append(ends, each.End)
		}
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	shortest := sort.Search(len(ends), func(i int) bool { return isWrong(until(g.calls, ends[i])) })
	calls := g.calls
	if shortest < len(ends) {
		calls = until(g.calls, ends[shortest])
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if !readsOnly[calls[i].Operation] || recoveries[calls[i].Operation] {
			continue
		}
		fewer := append(append([]*call{}, calls[:i]...), calls[i+1:]...)
		if isWrong(fewer) {
			calls = fewer
		}
	}
	sort.Slice(calls, func(i, j int) bool { return calls[i].Start < calls[j].Start })
	return calls
}

// until returns the history as it was known at a moment: later calls did not begin, and later results did not arrive.
func until(calls []*call, at int64) []*call {
	result := []*call{}
	for _, each := range calls {
		if each.Start > at {
			continue
		}
		one := *each
		if one.End > at {
			if readsOnly[one.Operation] {
				continue
			}
			one.End, one.Result = never, nil
		}
		result = append(result, &one)
	}
	return result
}
