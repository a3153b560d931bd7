import { endpointUrl, send } from '../lib/api.ts'
import { addGroupNames, addUserNames, groupName, type Named, userName } from '../lib/names.ts'
import { setQuery } from '../lib/router.ts'
import type { Page } from '../lib/types.ts'
import { Combobox, type ComboboxOption } from './combobox.tsx'

/** Options that are offered: who does not see theirs types more of the name. */
const MAX_OPTIONS = 20

async function search(path: string, q: string, signal: AbortSignal): Promise<readonly Named[]> {
  const url = endpointUrl(path, { q, limit: MAX_OPTIONS })
  const { data } = await send<Page<Named>>('GET', url, undefined, { signal })
  return data
}

const toOption = ({ id, name }: Named): ComboboxOption => ({ id: String(id), name, note: String(id) })

async function searchUsers(text: string, signal: AbortSignal): Promise<readonly ComboboxOption[]> {
  const users = await search('/admin/users', text, signal)
  addUserNames(users)
  return users.map(toOption)
}

async function searchGroups(text: string, signal: AbortSignal): Promise<readonly ComboboxOption[]> {
  const groups = await search('/admin/groups', text, signal)
  addGroupNames(groups)
  return groups.map(toOption)
}

/** Returns the id of the first user, to begin with; empty if there is none. */
export async function findFirstUser(): Promise<string> {
  const { data } = await send<Page<Named>>('GET', '/admin/users?limit=1')
  return String(data[0]?.id ?? '')
}

interface PickerProps {
  readonly label?: string
  /** The id; empty if nothing is chosen. */
  readonly value: string
  readonly placeholder?: string
  readonly required?: boolean
  /** With the empty text if the choice was removed. */
  readonly onChange: (id: string) => void
}

/** Chooses one of all users. */
export function UserPicker({ label = 'User', ...props }: PickerProps) {
  return <Picker {...props} label={label} search={searchUsers} nameOf={userName} />
}

/** Chooses one of all groups. */
function GroupPicker({ label = 'Group', ...props }: PickerProps) {
  return <Picker {...props} label={label} search={searchGroups} nameOf={groupName} />
}

/** Filters in the address: a user and a group. */
export function CallerFilters({ chosen }: { readonly chosen: Readonly<Record<string, string>> }) {
  const { user = '', group = '' } = chosen
  return (
    <>
      <UserPicker value={user} placeholder="all" onChange={(id) => setQuery({ user: id })} />
      <GroupPicker value={group} placeholder="all" onChange={(id) => setQuery({ group: id })} />
    </>
  )
}

interface Source {
  readonly label: string
  readonly search: typeof searchUsers
  readonly nameOf: (id: number) => string
}

function Picker({ value, nameOf, onChange, ...props }: PickerProps & Source) {
  return (
    <Combobox
      {...props}
      value={value === '' ? '' : nameOf(Number(value))}
      onChange={({ id }) => onChange(id)}
      onClear={() => onChange('')}
    />
  )
}

interface ListPickerProps {
  readonly chosen: readonly number[]
  readonly onChange: (chosen: readonly number[]) => void
}

/** Chooses users, and removes them again. */
export function UserListPicker(props: ListPickerProps) {
  return <ListPicker {...props} label="Add a user" search={searchUsers} nameOf={userName} />
}

/** Chooses groups, and removes them again. */
export function GroupListPicker(props: ListPickerProps) {
  return <ListPicker {...props} label="Add a group" search={searchGroups} nameOf={groupName} />
}

function ListPicker({ label, search, nameOf, chosen, onChange }: ListPickerProps & Source) {
  const searchOthers = async (text: string, signal: AbortSignal) =>
    (await search(text, signal)).filter(({ id }) => !chosen.includes(Number(id)))
  return (
    <div>
      <Combobox
        label={label}
        value=""
        search={searchOthers}
        onChange={({ id }) => onChange([...chosen, Number(id)])}
      />
      <div class="actions">
        {chosen.map((id) => (
          <button
            key={id}
            type="button"
            aria-label={`Remove ${nameOf(id)}`}
            onClick={() => onChange(chosen.filter((other) => other !== id))}
          >
            {nameOf(id)} ✕
          </button>
        ))}
      </div>
    </div>
  )
}
