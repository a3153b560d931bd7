import type { Action, Condition, OperatorRegistry, PluginParts } from '../contract/index.ts'
import { createNameOwners } from './name-owners.ts'

/** A registry that plugins are still being added to. */
export interface MutableOperatorRegistry extends OperatorRegistry {
  /**
   * Adds a plugin's conditions and actions. Throws if a name is already defined; `title` names the plugin.
   */
  add(title: string, parts: PluginParts): void
}

export function createOperatorRegistry(): MutableOperatorRegistry {
  const conditions = new Map<string, Condition>()
  const actions = new Map<string, Action>()
  const owners = createNameOwners()

  function define<Operator extends { readonly name: string }>(
    operators: Map<string, Operator>,
    kind: 'condition' | 'action',
    title: string,
    operator: Operator,
  ): void {
    owners.claim(kind, operator.name, title)
    operators.set(operator.name, operator)
  }

  return {
    conditions,
    actions,
    add(title, parts) {
      for (const condition of parts.conditions ?? []) define(conditions, 'condition', title, condition)
      for (const action of parts.actions ?? []) define(actions, 'action', title, action)
    },
  }
}
