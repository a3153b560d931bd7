import type { Action, Condition, Matcher, RoutingInput } from '../contract/index.ts'
import { freezeJson } from '../util/json.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { parseWarning } from './check-annotations.ts'
import { describeType } from './check-reply.ts'
import { freezeShared } from './freeze-shared.ts'
import { type PluginGuard, runSync } from './guard-phase.ts'

/**
 * Wraps a condition of a plugin package, so that what it throws names it. What then becomes of the rule
 * decides who evaluates it.
 */
export function guardCondition(condition: Condition, guard: PluginGuard): Condition {
  const title = `the condition "${condition.name}"`
  const run = <Value>(call: () => Value) => runSync(guard, title, call)
  const own = guardOperator(condition, run)
  if (!('matcher' in condition)) {
    return {
      ...own,
      literals: (value) => run(() => checkTexts(condition.literals(value))),
    }
  }
  const { headers: names = [] } = condition
  const pickHeaders = (headers: RoutingInput['headers']) =>
    Object.fromEntries(names.map((name) => [name, headers[name]]))
  return {
    ...own,
    matcher(value) {
      const matches = run(() => checkMatcher(condition.matcher(value)))
      return (input) => {
        freezeJson(input.request)
        freezeShared(input)
        return Boolean(run(() => matches({ ...input, headers: pickHeaders(input.headers) })))
      }
    },
  }
}

function checkMatcher(matches: unknown): Matcher {
  if (typeof matches === 'function') return matches as Matcher
  throw new TypeError(`matcher returned ${describeType(matches)} in place of a function`)
}

function checkTexts(texts: unknown): readonly string[] {
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts
  throw new TypeError('literals did not return a list of texts')
}

/** Wraps an action of a plugin package, likewise. */
export function guardAction(action: Action, guard: PluginGuard): Action {
  const run = <Value>(call: () => Value) => runSync(guard, `the action "${action.name}"`, call)
  const { choose } = action
  return {
    ...guardOperator(action, run),
    ...(choose && {
      choose: (value, input, ruleId) =>
        run(() => {
          const choice = choose.call(action, value, input, ruleId)
          const text = 'skipped' in choice ? choice.skipped : (choice.arm ?? '')
          if (typeof text !== 'string') throw new TypeError('choose did not return a choice')
          return choice
        }),
    }),
    apply: (value, draft) =>
      run(() => {
        const { request, warnings } = draft
        const count = warnings.length
        freezeJson(request)
        try {
          const result: unknown = action.apply(value, draft)
          if (isPromiseLike(result)) throw new TypeError(`apply returned ${describeType(result)}`)
        } catch (error) {
          draft.request = request
          warnings.splice(count)
          throw error
        }
        warnings.push(...warnings.splice(count).map(parseWarning))
        freezeJson(draft.request)
        if (Array.isArray(draft.request?.messages)) return
        draft.request = request
        throw new TypeError('apply left no request with messages')
      }),
  }
}

function guardOperator<Operator extends Condition | Action>(
  operator: Operator,
  run: <Value>(call: () => Value) => Value,
): Operator {
  const names = ['normalize', 'findIssue', 'lint'] as const
  const functions = names.flatMap((name) => {
    const own = (operator as unknown as Record<string, unknown>)[name]
    if (typeof own !== 'function') return []
    return [[name, (value: unknown) => run(() => own.call(operator, value))] as const]
  })
  return { ...operator, ...Object.fromEntries(functions) }
}
