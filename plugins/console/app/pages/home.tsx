import { useState } from 'preact/hooks'
import { EMPTY_CHAT } from '../lib/chat-draft.ts'
import { useData, useResource } from '../lib/data.ts'
import { type EffectiveRules, KIND_TITLES, RULE_KINDS, type Rule } from '../lib/drafts.ts'
import { formatCount, formatUsd } from '../lib/format.ts'
import { useRangeData } from '../lib/range.ts'
import { href } from '../lib/router.ts'
import { toSentence } from '../lib/rule-sentences.ts'
import type { Model, OwnedApiKey, Usage } from '../lib/schemas.ts'
import { session } from '../lib/session.ts'
import { TextField } from '../ui/fields.tsx'
import { type Column, PagedList, Table } from '../ui/list.tsx'
import { readOwnModels } from '../ui/model-picker.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { RangePicker } from '../ui/range-picker.tsx'
import { SnippetPanel } from '../ui/snippet.tsx'
import { Badge, Stat } from '../ui/values.tsx'
import { KEY_COLUMNS } from './keys.tsx'
import { OwnBudgetsPanel, UsageChart } from './usage.tsx'

const FIRST_CHAT = { ...EMPTY_CHAT, prompt: 'Hello' }

/** Where users begin: what they used, what is left, what they may use, and what applies to them. */
export function HomePage() {
  return (
    <PageLayout title="Home" actions={<RangePicker />}>
      <UsageFigures />
      <div class="grid">
        <OwnBudgetsPanel />
        <RulesPanel />
      </div>
      <KeysPanel />
      <SnippetPanel title="Quick start" draft={FIRST_CHAT} />
      <ModelsPanel />
    </PageLayout>
  )
}

/** In the range of the page. */
function UsageFigures() {
  const usage = useRangeData<readonly Usage[]>('/v1/usage', { group_by: 'model' })
  return (
    <ResourceView resource={usage}>
      {(rows) => (
        <>
          <dl class="stats">
            <Stat label="Requests" value={formatCount(sum(rows, ({ requests }) => requests))} />
            <Stat label="Errors" value={formatCount(sum(rows, ({ errors }) => errors))} />
            <Stat label="Cost" value={formatUsd(sum(rows, ({ cost_usd }) => cost_usd))} />
            <Stat label="Tokens in" value={formatCount(sum(rows, ({ tokens }) => tokens.input))} />
            <Stat label="Tokens out" value={formatCount(sum(rows, ({ tokens }) => tokens.output))} />
          </dl>
          {rows.length > 0 ? (
            <UsageChart rows={rows} by="model" />
          ) : (
            <Empty>
              You sent no requests in this range. Send one from the{' '}
              <a href={href('/playground')}>playground</a>, or with the code below.
            </Empty>
          )}
        </>
      )}
    </ResourceView>
  )
}

function sum(rows: readonly Usage[], read: (row: Usage) => number): number {
  return rows.reduce((all, row) => all + read(row), 0)
}

/** The rules that apply now, those of policies included. Of confidential ones, the gateway tells less. */
function RulesPanel() {
  const rules = useData<EffectiveRules>('/v1/rules/effective')
  return (
    <Panel title="What applies to your requests" actions={<a href={href('/rules')}>My rules</a>}>
      <ResourceView resource={rules}>
        {(loaded) => {
          const kinds = RULE_KINDS.filter((kind) => loaded[kind].length > 0)
          if (kinds.length === 0) return <Empty>No rule applies to your requests.</Empty>
          return kinds.map((kind) => (
            <section key={kind} aria-label={`${KIND_TITLES[kind]} rules`}>
              <h3>{KIND_TITLES[kind]}</h3>
              <ol class="list">
                {loaded[kind].map((rule) => (
                  <li key={rule.id}>
                    {toSentence(kind, rule)} <small class="muted block">{originOf(rule)}</small>
                  </li>
                ))}
              </ol>
            </section>
          ))
        }}
      </ResourceView>
    </Panel>
  )
}

function originOf({ name, origin }: Rule): string {
  return origin !== undefined && 'name' in origin
    ? `${name}, of the policy ${origin.name}`
    : `${name}, your own rule`
}

/** The key that signed in is marked. */
const OWN_KEY_COLUMNS: readonly Column<OwnedApiKey>[] = [
  {
    title: 'Key',
    cell: ({ id, name }) => (
      <>
        <a href={href('/requests', { key: id })}>{name ?? 'unnamed'}</a>{' '}
        {id === session.value?.id && <Badge tone="info">signed in</Badge>}
        <small class="muted block">{id}</small>
      </>
    ),
  },
  ...KEY_COLUMNS,
]

function KeysPanel() {
  return (
    <Panel title="API keys">
      <PagedList<OwnedApiKey> path="/v1/keys" empty="No keys.">
        {(keys) => (
          <Table
            columns={OWN_KEY_COLUMNS}
            items={keys}
            keyOf={({ id }) => id}
            row={({ state }) => ({ class: state === 'active' ? '' : 'off' })}
          />
        )}
      </PagedList>
      <p class="muted">Ask an operator for a new key, or to rotate or revoke one.</p>
    </Panel>
  )
}

const PRICE = { kind: 'number', format: formatUsd } as const

const MODEL_COLUMNS: readonly Column<Model>[] = [
  {
    title: 'Model',
    value: ({ id }) => id,
    cell: ({ id, provider }) => <a href={href('/playground', { model: `${provider}/${id}` })}>{id}</a>,
  },
  { title: 'Provider', value: ({ provider }) => provider },
  { title: 'Context', kind: 'number', format: formatCount, value: ({ context }) => context },
  { title: 'Input, per million', ...PRICE, value: ({ price }) => price?.input },
  { title: 'Output, per million', ...PRICE, value: ({ price }) => price?.output },
  { title: 'Reads and writes', value: ({ capabilities }) => describeCapabilities(capabilities) },
]

function describeCapabilities(capabilities: Model['capabilities']): string {
  if (!capabilities) return '–'
  const { tools, images, json } = capabilities
  return (
    [tools && 'tools', images && 'images', json !== 'none' && 'JSON'].filter(Boolean).join(', ') || 'text'
  )
}

function ModelsPanel() {
  const models = useResource('models', readOwnModels)
  const [text, setText] = useState('')
  const part = text.trim().toLowerCase()
  return (
    <Panel title="Models you may use">
      <ResourceView resource={models}>
        {(all) => {
          const found = all.filter(({ id, provider }) => `${provider}/${id}`.toLowerCase().includes(part))
          return (
            <>
              <p>
                {formatCount(all.length)} models for chats, and <code>auto:balance</code>,{' '}
                <code>auto:cost</code>, <code>auto:quality</code> and <code>auto:latency</code>, which choose
                among them.
              </p>
              <TextField label="Model or provider" type="search" value={text} onInput={setText} />
              {found.length === 0 ? (
                <Empty>No model has “{text}” in its name.</Empty>
              ) : (
                <div class="models">
                  <Table
                    columns={MODEL_COLUMNS}
                    items={found}
                    keyOf={({ provider, id }) => `${provider}/${id}`}
                  />
                </div>
              )}
            </>
          )
        }}
      </ResourceView>
    </Panel>
  )
}
