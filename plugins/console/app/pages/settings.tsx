import { useMemo } from 'preact/hooks'
import { useData } from '../lib/data.ts'
import { formatCount } from '../lib/format.ts'
import type { Setting, SettingsReport } from '../lib/schemas.ts'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, VirtualTable } from '../ui/list.tsx'
import { Empty, PageLayout, ResourceView } from '../ui/page.tsx'
import { Badge, Stat, type Tone } from '../ui/values.tsx'

type Source = Setting['source']['type']

const SOURCES: Readonly<Record<Source, readonly [Tone, string]>> = {
  default: ['plain', 'default'],
  preset: ['plain', 'preset'],
  file: ['info', 'file'],
  environment: ['info', 'environment'],
}

const FILTERS: readonly Filter[] = [
  { name: 'q', label: 'Setting', type: 'text', placeholder: 'limits' },
  {
    name: 'source',
    label: 'From',
    options: [['', 'all'], ['changed', 'not the default'], ...(Object.keys(SOURCES) as Source[])],
  },
]

/** All settings in force, and where each came from. */
export function SettingsPage() {
  const report = useData<SettingsReport>('/admin/settings')
  return (
    <PageLayout title="Settings">
      <p class="muted">
        Settings come from the shipped defaults, the settings file, which overrides them, and the environment,
        which overrides both. They are read when the gateway starts.
      </p>
      <ResourceView resource={report}>{(data) => <Report {...data} />}</ResourceView>
    </PageLayout>
  )
}

function Report({ file, settings }: SettingsReport) {
  const { q = '', source = '' } = chosenFilters(FILTERS)
  const found = useMemo(
    () => settings.filter((setting) => matches(setting, q, source)),
    [settings, q, source],
  )
  const count = (type: Source) => settings.filter(({ source }) => source.type === type).length
  return (
    <>
      <dl class="stats">
        <Stat
          label="Settings file"
          value={file === null ? 'none' : <code>{file}</code>}
          note={file === null && 'set CONFIG'}
        />
        <Stat label="From the file" value={formatCount(count('file'))} />
        <Stat label="From the environment" value={formatCount(count('environment'))} />
      </dl>
      <Filters filters={FILTERS} />
      {found.length === 0 ? (
        <Empty>No setting matches. Choose fewer filters.</Empty>
      ) : (
        <VirtualTable name="settings" columns={COLUMNS} items={found} keyOf={({ name }) => name} />
      )}
    </>
  )
}

/** Each word must be in the name, the description or the variable. */
function matches(
  { name, description = '', variable = '', source }: Setting,
  q: string,
  wanted: string,
): boolean {
  const isFromThere =
    wanted === 'changed' ? ['file', 'environment'].includes(source.type) : source.type === wanted
  if (wanted !== '' && !isFromThere) return false
  const text = `${name} ${description} ${variable}`.toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

const COLUMNS: readonly Column<Setting>[] = [
  {
    title: 'Setting',
    value: ({ name }) => name,
    cell: ({ name, description }) => (
      <>
        <code>{name}</code>
        {description && <small class="muted block">{description}</small>}
      </>
    ),
  },
  { title: 'Value', value: toText, cell: (setting) => <Value {...setting} /> },
  {
    title: 'From',
    value: ({ source }) => [source.type, source.name].filter(Boolean).join(' '),
    cell: ({ source, variable, is_set }) => {
      const [tone, text] = SOURCES[source.type]
      return (
        <>
          <Badge tone={tone}>{text}</Badge>
          {source.name && <small class="muted block">{source.name}</small>}
          {!source.name && !is_set && variable && <small class="muted block">set {variable}</small>}
        </>
      )
    },
  },
]

function toText({ value, is_secret, is_set }: Setting): string {
  if (is_secret || !is_set) return is_set ? 'set, not shown' : ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function Value({ value, default: shipped, is_secret, is_set }: Setting) {
  if (is_secret)
    return is_set ? <Badge tone="good">set, not shown</Badge> : <span class="muted">not set</span>
  if (!is_set) return <span class="muted">not set</span>
  return (
    <>
      <ShownValue value={value} />
      {shipped !== undefined && (
        <small class="muted block">
          default: <ShownValue value={shipped} />
        </small>
      )}
    </>
  )
}

/** Longer values are folded. */
const MAX_CHARS = 80

function ShownValue({ value }: { readonly value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= MAX_CHARS) return <code class="wrap">{text === '' ? '""' : text}</code>
  const count = Array.isArray(value) ? `${value.length} entries` : 'Show'
  return (
    <details>
      <summary>{count}</summary>
      <pre>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
    </details>
  )
}
