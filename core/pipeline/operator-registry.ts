import type { Action, Condition, OperatorRegistry, PluginParts } from '../contract/index.ts'

/** A vocabulary that plugins are still adding to. */
export interface MutableOperatorRegistry extends OperatorRegistry {
  /** Adds what a plugin brings; refuses a word that is there already, with the plugin's title. */
  add(title: string, parts: PluginParts): void
}

export function createOperatorRegistry(): MutableOperatorRegistry {
  const conditions = new Map<string, Condition>()
  const actions = new Map<string, Action>()

  function put<Word extends { name: string }>(
    words: Map<string, Word>,
    kind: string,
    title: string,
    word: Word,
  ): void {
    if (words.has(word.name)) {
      throw new Error(`${title} brings the ${kind} "${word.name}", which is there already. Rename it.`)
    }
    words.set(word.name, word)
  }

  return {
    conditions,
    actions,
    add(title, parts) {
      for (const condition of parts.conditions ?? []) put(conditions, 'condition', title, condition)
      for (const action of parts.actions ?? []) put(actions, 'action', title, action)
    },
  }
}
