import { StrictObject, Type } from '../../core/contract/index.ts'

const PluginName = Type.String({ minLength: 1 })

const PluginWithOptions = {
  use: PluginName,
  options: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
}

/** A plugin of the full list. */
export const PluginListEntry = Type.Union([PluginName, StrictObject(PluginWithOptions)])

const AddedPlugin = Type.Union([
  PluginName,
  StrictObject({
    ...PluginWithOptions,
    before: Type.Optional(
      Type.String({ description: 'A plugin of the list. Default: the end of the list.' }),
    ),
    after: Type.Optional(Type.String({ description: 'A plugin of the list.' })),
  }),
])

/** Changes to the list that is shipped. */
export const PluginChanges = StrictObject(
  {
    remove: Type.Optional(Type.Array(PluginName)),
    add: Type.Optional(Type.Array(AddedPlugin)),
  },
  { minProperties: 1, description: 'Changes to the shipped list: removes plugins, then adds others.' },
)
