import { groupName, userName } from '../lib/names.ts'
import type { Policy, PolicyTargets } from '../lib/types.ts'
import { CheckField, TextField } from '../ui/fields.tsx'
import { GroupListPicker, UserListPicker } from '../ui/pickers.tsx'

/** The settings of a policy in a form. */
export interface PolicyInput {
  readonly name: string
  readonly description: string
  readonly is_enabled: boolean
  readonly priority: string
  readonly applies_to: PolicyTargets
  readonly visibility: Policy['visibility']
}

export function toPolicyInput({ description, priority, ...policy }: Policy): PolicyInput {
  const { name, is_enabled, applies_to, visibility } = policy
  const texts = { description: description ?? '', priority: String(priority) }
  return { name, is_enabled, applies_to, visibility, ...texts }
}

/** Returns the body of a request. The gateway refuses what is invalid, and says why. */
export function toPolicyBody({ description, priority, ...input }: PolicyInput): object {
  return { ...input, priority: Number(priority), description: description || null }
}

export function describeTargets({ everyone, groups = [], users = [] }: PolicyTargets): string {
  if (everyone) return 'everyone'
  return [...groups.map(groupName), ...users.map(userName)].join(', ')
}

interface PolicyFieldsProps {
  readonly input: PolicyInput
  readonly onChange: (input: PolicyInput) => void
}

export function PolicyFields({ input, onChange }: PolicyFieldsProps) {
  const set = (changes: Partial<PolicyInput>) => onChange({ ...input, ...changes })
  const { everyone, groups = [], users = [] } = input.applies_to
  return (
    <>
      <TextField label="Name" value={input.name} onInput={(name) => set({ name })} required maxLength={128} />
      <TextField
        label="Description"
        value={input.description}
        onInput={(description) => set({ description })}
        maxLength={1000}
      />
      <TextField
        label="Priority"
        type="number"
        value={input.priority}
        onInput={(priority) => set({ priority })}
        hint="-1000 to 1000. Policies with a higher priority come first."
      />
      <CheckField label="Enabled" checked={input.is_enabled} onChange={(is_enabled) => set({ is_enabled })} />
      <CheckField
        label="Users see what the rules look for"
        checked={input.visibility === 'full'}
        onChange={(isFull) => set({ visibility: isFull ? 'full' : 'name' })}
      />
      <fieldset class="choices">
        <legend>Applies to</legend>
        <CheckField
          label="Everyone"
          checked={everyone === true}
          onChange={(all) => set({ applies_to: all ? { everyone: true } : { groups: [], users: [] } })}
        />
        {!everyone && (
          <>
            <GroupListPicker chosen={groups} onChange={(groups) => set({ applies_to: { groups, users } })} />
            <UserListPicker chosen={users} onChange={(users) => set({ applies_to: { groups, users } })} />
          </>
        )}
      </fieldset>
    </>
  )
}
