import { useEffect, useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useAction, useData } from '../lib/data.ts'
import type { DraftRule, RuleContent } from '../lib/drafts.ts'
import type { FirewallPreset, PatternTestResult } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { Dialog } from '../ui/dialogs.tsx'
import {
  type FieldSpec,
  type FieldSpecs,
  Fields,
  Form,
  TextField,
  toBody,
  toDraftValues,
} from '../ui/fields.tsx'

interface RuleDialogProps {
  readonly draft: DraftRule
  readonly onDone: (draft: DraftRule) => void
  readonly onClose: () => void
}

/** Edits a rule. The result is a draft: nothing is saved yet. */
export function RuleDialog({ draft, onDone, onClose }: RuleDialogProps) {
  const [values, setValues] = useState(() =>
    toDraftValues([...ROUTING_FIELDS, ...TOOL_FIELDS], draft.content),
  )
  const presets = useData<readonly FirewallPreset[]>(`${root()}/firewall-presets`).data ?? []
  const isFirewall = draft.kind === 'firewall'
  const own = { routing: ROUTING_FIELDS, tool: TOOL_FIELDS, firewall: firewallFields(values, presets) }
  const fields = [NAME, ...own[draft.kind], ORDER]

  function submit() {
    const body = toBody(fields, values)
    if (body)
      onDone({
        ...draft,
        content: { ...draft.content, ...(isFirewall && NO_REPLACEMENT), ...body } as RuleContent,
      })
  }

  return (
    <Dialog title={`${draft.stored ? 'Edit' : 'New'} ${draft.kind} rule`} onClose={onClose}>
      <Form onSubmit={submit}>
        <Fields specs={fields} values={values} onChange={setValues} />
        {isFirewall && isOperator() && <PatternTest {...values} />}
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Apply
          </button>
        </div>
      </Form>
    </Dialog>
  )
}

const NO_REPLACEMENT = { replacement: null }

const NAME: FieldSpec = { name: 'name', label: 'Name', required: true, maxLength: 255 }

const ORDER: readonly FieldSpec[] = [
  {
    name: 'priority',
    label: 'Priority',
    type: 'number',
    required: true,
    hint: 'Rules with a higher priority come first.',
  },
  { name: 'is_enabled', label: 'Enabled', type: 'check' },
]

const ROUTING_FIELDS: readonly FieldSpec[] = [
  {
    name: 'match_json',
    label: 'Conditions (match_json)',
    type: 'json',
    rows: 4,
    mono: true,
    hint: 'Such as {"contains": "contract"}. {} matches every request.',
  },
  {
    name: 'action_json',
    label: 'Actions (action_json)',
    type: 'json',
    rows: 4,
    mono: true,
    hint: 'Such as {"set_mode": "quality"}, or with set_model, set_provider, split, shadow, require.',
  },
]

const TOOL_FIELDS: readonly FieldSpec[] = [
  {
    name: 'match',
    label: 'Conditions (match)',
    type: 'json',
    rows: 6,
    mono: true,
    hint: 'Such as {"server": "files", "tool": "delete_*"}, or with arguments, after_reading.',
  },
  { name: 'action', label: 'Action', options: ['allow', 'deny', 'hide', 'require_approval', 'warn'] },
]

function firewallFields(
  { type, pattern, action }: Readonly<Record<string, unknown>>,
  presets: readonly FirewallPreset[],
): FieldSpecs {
  const choices: readonly FieldSpec[] = [
    {
      name: 'type',
      label: 'Type',
      options: ['substring', 'regex', 'preset'],
      also: (chosen) => ({ pattern: chosen === 'preset' ? (presets[0]?.name ?? '') : '' }),
    },
    {
      name: 'scope',
      label: 'Looks at',
      options: [
        ['prompt', 'prompts'],
        ['response', 'replies'],
        ['tool_call', 'arguments of tool calls'],
        ['tool_result', 'results of tools'],
      ],
    },
    { name: 'action', label: 'Action', options: ['block', 'mask', 'warn'] },
  ]
  const preset: FieldSpec = {
    name: 'pattern',
    label: 'Preset',
    options: presets.map(({ name }) => name),
    hint: presets.find(({ name }) => name === pattern)?.description,
  }
  const own: FieldSpec = { name: 'pattern', label: 'Pattern', mono: true, required: true }
  const replacement: FieldSpec = {
    name: 'replacement',
    label: 'Replacement',
    mono: true,
    empty: null,
    hint: 'Empty: the default replacement.',
  }
  return [choices, type === 'preset' ? preset : own, ...(action === 'mask' ? [replacement] : [])]
}

const DELAY_MS = 250

interface PatternTestProps {
  readonly type?: unknown
  readonly pattern?: unknown
  readonly action?: unknown
  readonly replacement?: unknown
}

/** Shows what a pattern matches in a text, by the engine of the gateway. */
function PatternTest({ type, pattern, action, replacement }: PatternTestProps) {
  const [text, setText] = useState('')
  const [result, setResult] = useState<PatternTestResult>()
  const test = useAction(async (signal: AbortSignal) => {
    const body = { type, pattern, text, ...(replacement ? { replacement } : {}) }
    const found = await post<PatternTestResult>('/admin/pattern-test', body, { signal }).catch((error) => {
      if (!signal.aborted) throw error
    })
    if (found && !signal.aborted) setResult(found)
  })

  useEffect(() => {
    if (text === '' || pattern === '') return setResult(undefined)
    const controller = new AbortController()
    const timer = setTimeout(() => test.start(controller.signal), DELAY_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text, type, pattern, replacement])

  return (
    <div class="pattern-test">
      <TextField
        label="Try it on a text"
        rows={3}
        value={text}
        onInput={setText}
        placeholder="Paste a text here. It is not stored."
      />
      {test.error && <p class="issue">{test.error.message}</p>}
      {result && (
        <output>
          <p class={result.pattern_error ? 'issue' : 'muted'}>{summarize(result)}</p>
          <Highlighted text={text} matches={result.matches} />
          {action === 'mask' && result.masked !== null && (
            <>
              <p class="muted">The provider would get:</p>
              <pre>{result.masked}</pre>
            </>
          )}
        </output>
      )}
    </div>
  )
}

function summarize({ pattern_error, matches, is_finished, is_match }: PatternTestResult): string {
  if (pattern_error) return pattern_error
  if (!is_finished) return 'The pattern did not finish within its limits.'
  if (is_match && matches.length === 0) return 'It matches, but no part of the text.'
  return matches.length === 1 ? '1 match' : `${matches.length} matches`
}

function Highlighted({
  text,
  matches,
}: {
  readonly text: string
  readonly matches: PatternTestResult['matches']
}) {
  let end = 0
  const parts = matches.map((match) => {
    const before = text.slice(end, match.start)
    end = Math.max(end, match.end)
    return (
      <>
        {before}
        <mark>{text.slice(match.start, match.end)}</mark>
      </>
    )
  })
  return (
    <pre>
      {parts}
      {text.slice(end)}
    </pre>
  )
}
