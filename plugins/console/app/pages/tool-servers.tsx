import { useState } from 'preact/hooks'
import { send } from '../lib/api.ts'
import { useAction } from '../lib/data.ts'
import { href, type PageProps } from '../lib/router.ts'
import type { PinnedTool as Tool, ToolRefresh, ToolServer } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { Fields, fieldsOf, SelectField, toBody, type Values } from '../ui/fields.tsx'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualTable } from '../ui/list.tsx'
import { ErrorMessage, Panel } from '../ui/page.tsx'
import { Badge, Stat, Time } from '../ui/values.tsx'
import { BY_NAME, createResourcePages } from './resource.tsx'
import { serverHref, TOOL_TONES, ToolPage, toolHref } from './tool.tsx'

const AUTH_LABELS = {
  none: 'none',
  bearer: 'bearer token',
  header: 'secret in a header',
  oauth: 'OAuth',
  passthrough: 'credentials of the caller',
} as const

type AuthType = keyof typeof AUTH_LABELS

const AUTH_FIELDS = fieldsOf('ToolServerAuth', {
  secret_ref: { label: 'Secret', required: true, mono: true, hint: 'Where it is: env:NAME or file:PATH.' },
  header: { required: true, mono: true, hint: 'Such as x-api-key.' },
  token_url: { label: 'Token endpoint', required: true, mono: true },
  client_id: { label: 'Client id', required: true, mono: true },
  scope: { hint: 'Separated by spaces. Empty: none.' },
  resource: { hint: 'That the tokens are for. Empty: none.' },
  on_behalf_of: {
    label: 'Acts for',
    options: [
      ['gateway', 'the gateway'],
      ['user', 'the user, with a token that is exchanged for theirs'],
    ],
  },
})

const OF_TYPES: Readonly<Record<AuthType, readonly string[]>> = {
  ...{ none: [], passthrough: [], bearer: ['secret_ref'], header: ['secret_ref', 'header'] },
  oauth: ['secret_ref', 'token_url', 'client_id', 'scope', 'resource', 'on_behalf_of'],
}

interface AuthProps {
  readonly auth: ToolServer['auth']
  readonly onChange: (auth: Values) => void
}

/** Each type has its own fields. */
function AuthFields({ auth, onChange }: AuthProps) {
  const { type } = auth
  const specs = AUTH_FIELDS.filter(({ name }) => OF_TYPES[type].includes(name))
  return (
    <fieldset class="choices">
      <legend>Authentication at the server</legend>
      <SelectField
        label="Type"
        value={type}
        options={Object.entries(AUTH_LABELS)}
        onChange={(chosen) =>
          onChange({ type: chosen, ...(chosen === 'oauth' && { on_behalf_of: 'gateway' }) })
        }
      />
      <Fields
        specs={specs}
        values={{ ...auth }}
        onChange={(values) => onChange({ type, ...toBody(specs, values) })}
      />
    </fieldset>
  )
}

const FIELDS = fieldsOf('ToolServerInput', {
  name: { hint: 'Lower-case letters, digits and hyphens. It cannot be changed.', mono: true },
  url: { label: 'Address', mono: true, hint: 'Of the MCP endpoint, without credentials.' },
  auth: { render: (value, set) => <AuthFields auth={value as ToolServer['auth']} onChange={set} /> },
  default: {
    label: 'Calls that no rule decides about',
    options: [
      ['allow', 'are allowed'],
      ['deny', 'are denied'],
    ],
  },
  new_tools: {
    label: 'New tools',
    options: [
      ['pending', 'must be approved'],
      ['approved', 'are served at once'],
    ],
  },
  changed_tools: {
    label: 'Tools whose definition changes',
    options: [
      ['block', 'are not served until it is approved'],
      ['serve_approved', 'are served as they were approved'],
    ],
  },
  timeout_ms: { label: 'Time limit of a call (ms)', hint: 'Empty: as the settings say.' },
  max_concurrent: { label: 'Calls at the same time', hint: 'Empty: as the settings say.' },
})

const ServerPages = createResourcePages<ToolServer>({
  path: 'tool-servers',
  title: 'Tool servers',
  noun: 'tool server',
  writer: 'admin',
  created: FIELDS,
  initial: {
    is_enabled: true,
    auth: { type: 'none' },
    ...{ default: 'allow', new_tools: 'pending', changed_tools: 'block' },
  },
  edited: FIELDS.filter(({ name }) => name !== 'name'),
  query: { tool_counts: true },
  filters: BY_NAME,
  intro: 'MCP servers whose tools callers use at /mcp. A definition of a tool is served once it is approved.',
  empty: 'There are no tool servers. Create one, or name programs in the settings file (mcp.servers).',
  columns: [
    {
      title: 'Server',
      value: ({ name }) => name,
      cell: ({ id, name, is_enabled }) => (
        <>
          <a href={serverHref(id)}>{name}</a> {!is_enabled && <Badge>disabled</Badge>}
        </>
      ),
    },
    {
      title: 'Tools',
      kind: 'number',
      value: ({ tools }) => tools,
      total: 'sum',
      cell: ({ id, tools, undecided_tools: undecided = 0 }) => (
        <>
          {undecided > 0 && (
            <a href={serverHref(id)}>
              <Badge tone="warn">{undecided} to decide</Badge>
            </a>
          )}{' '}
          {tools}
        </>
      ),
    },
    { title: 'Address', class: 'clip', value: ({ url, program }) => url ?? program, cell: addressOf },
    { title: 'Authentication', value: ({ auth }) => AUTH_LABELS[auth.type] },
    {
      title: 'By default',
      value: ({ default: action }) => action,
      cell: ({ default: action }) => <DefaultBadge action={action} />,
    },
  ],
  rowClass: ({ is_enabled }) => (is_enabled ? '' : 'off'),
  summary: (server) => (
    <>
      {addressOf(server)} {!server.is_enabled && <Badge tone="warn">disabled</Badge>} ·{' '}
      <a href={href('/tool-calls', { server: server.name })}>Calls</a> ·
    </>
  ),
  changes: () => ({ kind: 'tool_server' }),
  panels: (server, path) => (
    <>
      <ServerStats server={server} />
      <ToolsPanel server={server} path={path} />
    </>
  ),
  warning: 'Its tools are no longer served, and what was decided about them is forgotten. Its history stays.',
  isFinal: ({ program }) => program !== undefined,
})

/** Tool servers, and the pages of their tools below them. */
export function ToolServerPages({ path }: PageProps) {
  const [server = '', part, tool] = path
  return part === 'tools' && tool !== undefined ? (
    <ToolPage server={server} name={tool} />
  ) : (
    <ServerPages path={path} />
  )
}

function addressOf({ url, program }: ToolServer) {
  if (url !== null) return <code>{url}</code>
  return (
    <>
      <code>{program}</code> <small class="muted">a program of the settings file</small>
    </>
  )
}

function DefaultBadge({ action }: { readonly action: ToolServer['default'] }) {
  return <Badge tone={action === 'allow' ? 'good' : 'bad'}>{action}</Badge>
}

function ServerStats({ server }: { readonly server: ToolServer }) {
  const { auth, default: action, new_tools, changed_tools, timeout_ms, max_concurrent, program } = server
  return (
    <dl class="stats">
      {program === undefined && (
        <Stat
          label="Authentication"
          value={AUTH_LABELS[auth.type]}
          note={auth.secret_ref && <code>{auth.secret_ref}</code>}
        />
      )}
      <Stat label="Without a rule" value={<DefaultBadge action={action} />} />
      <Stat label="New tools" value={new_tools === 'pending' ? 'must be approved' : 'served at once'} />
      <Stat label="Changed tools" value={changed_tools === 'block' ? 'not served' : 'served as approved'} />
      {timeout_ms !== null && <Stat label="Time limit" value={`${timeout_ms} ms`} />}
      {max_concurrent !== null && <Stat label="Calls at the same time" value={max_concurrent} />}
    </dl>
  )
}

const FILTERS: readonly Filter[] = [
  { name: 'status', label: 'Status', options: [['', 'all'], ...Object.keys(TOOL_TONES)] },
]

interface ToolsPanelProps {
  readonly server: ToolServer
  /** The endpoint of the server. */
  readonly path: string
}

function ToolsPanel({ server, path }: ToolsPanelProps) {
  const [version, setVersion] = useState(0)
  const [refreshed, setRefreshed] = useState<ToolRefresh>()
  const refresh = useAction(async () => {
    setRefreshed((await send<{ readonly data: ToolRefresh }>('POST', `${path}/refresh`)).data)
    setVersion((old) => old + 1)
  })
  const { status = '' } = chosenFilters(FILTERS)
  const ask = hasRole('editor') && (
    <button type="button" disabled={refresh.isBusy} onClick={() => refresh.start()}>
      Ask the server now
    </button>
  )
  return (
    <Panel title="Tools" actions={ask}>
      <Filters filters={FILTERS} />
      <div role="status">{refreshed && !refresh.error && <Refreshed {...refreshed} />}</div>
      {refresh.error && <ErrorMessage error={refresh.error} retry={() => refresh.start()} />}
      <PagedList<Tool>
        path={`${path}/tools`}
        query={{ status, limit: 100 }}
        version={version}
        empty={
          status === ''
            ? 'No tool is known yet. They are recorded when a caller lists them, and when you ask the server.'
            : `No tool is ${status}.`
        }
      >
        {(tools) => <VirtualTable columns={toolColumns(server)} items={tools} keyOf={({ name }) => name} />}
      </PagedList>
    </Panel>
  )
}

/** The server has answered, so it can be reached. */
function Refreshed({ listed, refused, ...changes }: ToolRefresh) {
  const parts = Object.entries(changes).filter(([, names]) => names.length > 0)
  return (
    <>
      <p>
        <Badge tone="good">reachable</Badge> The server lists {listed === 1 ? '1 tool' : `${listed} tools`}
        {parts.map(([change, names]) => `; ${change}: ${names.join(', ')}`)}.
      </p>
      {refused.length > 0 && (
        <div class="notice warn">
          <ul>
            {refused.map(({ name, reason }) => (
              <li key={name}>
                <code>{name}</code> is neither recorded nor served: {reason}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

const toolColumns = ({ id }: ToolServer): readonly Column<Tool>[] => [
  {
    title: 'Tool',
    value: ({ name }) => name,
    cell: ({ name, removed_at }) => (
      <>
        <a href={toolHref(id, name)}>{name}</a> {removed_at && <Badge>no longer listed</Badge>}
      </>
    ),
  },
  {
    title: 'Newest definition',
    value: ({ status }) => status,
    cell: ({ status, revision, findings }) => (
      <>
        <Badge tone={TOOL_TONES[status]}>{status}</Badge>
        <small class="muted"> revision {revision} </small>
        {findings.length > 0 && <FindingsBadge count={findings.length} />}
      </>
    ),
  },
  {
    title: 'Served',
    cell: ({ served_revision }) =>
      served_revision === null ? <span class="muted">not served</span> : `revision ${served_revision}`,
  },
  { title: 'Seen', value: ({ seen_at }) => seen_at, cell: ({ seen_at }) => <Time value={seen_at} /> },
]

function FindingsBadge({ count }: { readonly count: number }) {
  return <Badge tone="bad">{count === 1 ? '1 finding' : `${count} findings`}</Badge>
}
