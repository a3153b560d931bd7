import { LRUCache } from 'lru-cache'
import type { RuleSet } from './contract/index.ts'

/**
 * What a user's rules compile to, made on first use and kept for the users seen last. A rule change makes a new `RuleSet`, so
 * an entry that was compiled from another object is out of date.
 */
export function createCompiledCache<Compiled extends object>(
  compile: (rules: RuleSet) => Compiled,
  maxUsers: number,
): (rules: RuleSet) => Compiled {
  const cache = new LRUCache<number, { rules: RuleSet; compiled: Compiled }>({ max: maxUsers })
  return (rules) => {
    const known = cache.get(rules.userId)
    if (known?.rules === rules) return known.compiled
    const compiled = compile(rules)
    cache.set(rules.userId, { rules, compiled })
    return compiled
  }
}
