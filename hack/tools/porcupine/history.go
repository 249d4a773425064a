package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
)

// never is the end of a call without a result: it may have its effect at any later time.
const never = math.MaxInt64

// entry is one line of a recorded history (test/kit/history.ts): the start of a call, its result, or its refusal.
type entry struct {
	Start     *int            `json:"start"`
	End       *int            `json:"end"`
	Refused   *int            `json:"refused"`
	AtNs      int64           `json:"atNs"`
	Operation string          `json:"operation"`
	Client    string          `json:"client"`
	Args      json.RawMessage `json:"args"`
	Result    json.RawMessage `json:"result"`
}

// args are the arguments of all operations; each uses some of them.
type args struct {
	Key       string `json:"key"`
	Type      string `json:"type"`
	Value     string `json:"value"`
	TTLMs     *int64 `json:"ttlMs"`
	HoldMs    int64  `json:"holdMs"`
	Token     int64  `json:"token"`
	Delta     int64  `json:"delta"`
	Above     int64  `json:"above"`
	ExpectGen int64  `json:"expectGen"`
	Config    string `json:"config"`
}

// call is one operation on one key.
type call struct {
	Operation string          `json:"operation"`
	Client    string          `json:"client"`
	Args      args            `json:"-"`
	RawArgs   json.RawMessage `json:"args"`
	// Result is nil without a reply: the call may have had its effect.
	Result json.RawMessage `json:"result"`
	Start  int64           `json:"startNs"`
	End    int64           `json:"endNs"`
	// mayLease marks a call on a task that a reserve without a reply may have leased.
	mayLease bool
}

func (c *call) isKnown() bool { return c.Result != nil }

// lease is a task that a reserve returned.
type lease struct {
	ID    string `json:"id"`
	Token int64  `json:"token"`
}

// readHistory returns the calls of one client process. Refused calls had no effect and are left out.
func readHistory(path string) ([]*call, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	calls := map[int]*call{}
	order := []int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for number := 1; lines.Scan(); number++ {
		var line entry
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		switch {
		case line.Start != nil:
			each := &call{Operation: line.Operation, Client: line.Client, RawArgs: line.Args, Start: line.AtNs, End: never}
			if err := json.Unmarshal(line.Args, &each.Args); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, number, err)
			}
			calls[*line.Start] = each
			order = append(order, *line.Start)
		case line.End != nil && calls[*line.End] != nil:
			calls[*line.End].End, calls[*line.End].Result = line.AtNs, line.Result
		case line.Refused != nil:
			delete(calls, *line.Refused)
		default:
			return nil, fmt.Errorf("%s:%d: a result without a call", path, number)
		}
	}
	result := []*call{}
	for _, number := range order {
		if each := calls[number]; each != nil {
			result = append(result, each)
		}
	}
	return result, lines.Err()
}

// group is the history of one key of one model.
type group struct {
	model *model
	key   string
	calls []*call
}

// groupsOf divides a history by model and key. A reserve becomes one call for each task that it returned. A call that
// the store may have carried out twice becomes two: one whose result was lost, and one with the result.
func groupsOf(calls []*call) ([]*group, error) {
	groups := map[string]*group{}
	ordered := []*group{}
	unknownReserves := map[string]int64{}
	add := func(key string, each *call) error {
		found, ok := modelOf[each.Operation]
		if !ok {
			return fmt.Errorf("operation %q belongs to no model", each.Operation)
		}
		name := found.name + " " + key
		if groups[name] == nil {
			groups[name] = &group{model: found, key: key}
			ordered = append(ordered, groups[name])
		}
		groups[name].calls = append(groups[name].calls, each)
		return nil
	}
	for _, each := range calls {
		if each.Operation != "task_reserve" {
			if isRead := readsOnly[each.Operation]; isRead && !each.isKnown() {
				continue
			}
			if err := add(each.Args.Key, each); err != nil {
				return nil, err
			}
			if mayRepeat[each.Operation] && each.isKnown() {
				first := *each
				first.Result = nil
				if err := add(each.Args.Key, &first); err != nil {
					return nil, err
				}
			}
			continue
		}
		if !each.isKnown() {
			if first, ok := unknownReserves[each.Args.Type]; !ok || each.Start < first {
				unknownReserves[each.Args.Type] = each.Start
			}
			continue
		}
		var leases []lease
		if err := json.Unmarshal(each.Result, &leases); err != nil {
			return nil, err
		}
		for _, taken := range leases {
			part := *each
			part.Operation, part.Args.Token = "task_lease", taken.Token
			part.RawArgs = json.RawMessage(fmt.Sprintf(`{"token":%d}`, taken.Token))
			part.Result = json.RawMessage(`"leased"`)
			if err := add(each.Args.Type+"/"+taken.ID, &part); err != nil {
				return nil, err
			}
		}
	}
	for _, each := range ordered {
		if each.model != taskModel {
			continue
		}
		first, ok := unknownReserves[each.key[:strings.LastIndex(each.key, "/")]]
		for _, one := range each.calls {
			one.mayLease = ok && first <= one.End
		}
	}
	return ordered, nil
}
