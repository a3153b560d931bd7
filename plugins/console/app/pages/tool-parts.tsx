import type { ArgumentTest } from '../lib/schemas.ts'
import { SelectField, TextField } from '../ui/fields.tsx'
import { LinesField, type PartSpec, RowsField, ValueField } from '../ui/parts.tsx'
import { PatternIssue } from './pattern-test.tsx'

const globPart = (name: string, label: string, example: string): PartSpec => ({
  name,
  label,
  initial: '*',
  render: (value, set) => (
    <TextField
      label={label}
      mono
      required
      maxLength={256}
      hint={`Such as ${example}. * stands for any characters, ? for one; case counts.`}
      value={String(value)}
      onInput={set}
    />
  ),
})

/** The conditions of tool rules: keys of `match`. */
export const TOOL_CONDITIONS: readonly PartSpec[] = [
  globPart('server', 'Server', 'files'),
  globPart('tool', 'Tool', 'delete_*'),
  {
    name: 'arguments',
    label: 'Arguments',
    initial: {},
    render: (value, set) => (
      <RowsField<ArgumentTest>
        label="Arguments of the call"
        noun="test"
        initial={{ contains: '' }}
        value={value as Readonly<Record<string, ArgumentTest>>}
        onChange={set}
        row={(path, test, change) => <TestRow path={path} test={test} onChange={change} />}
      />
    ),
  },
  {
    name: 'after_reading',
    label: 'After reading',
    initial: [],
    render: (value, set) => (
      <LinesField
        label="After reading a result of"
        hint="Names of servers, one in each line; * and ? stand for characters."
        required
        value={value}
        onChange={set}
      />
    ),
  },
]

interface TestRowProps {
  readonly path: string
  readonly test: ArgumentTest
  readonly onChange: (path: string, test: ArgumentTest) => void
}

const TESTS = [
  ['contains', 'contains'],
  ['equals', 'is'],
  ['matches', 'matches the pattern'],
] as const

function TestRow({ path, test, onChange }: TestRowProps) {
  const [[kind, expected] = ['contains', '']] = Object.entries(test)
  const put = (name: string, value: unknown) => onChange(path, { [name]: value } as unknown as ArgumentTest)
  const text = typeof expected === 'string' ? expected : JSON.stringify(expected)
  return (
    <>
      <TextField
        label="Path"
        mono
        placeholder="/path, or empty for all"
        value={path}
        onInput={(pointer) => onChange(pointer, test)}
      />
      <SelectField label="Test" value={kind} options={TESTS} onChange={(name) => put(name, text)} />
      {kind === 'equals' ? (
        <ValueField label="Value" value={expected} onChange={(value) => put(kind, value)} />
      ) : (
        <TextField
          label="Text"
          required
          mono={kind === 'matches'}
          hint={kind === 'matches' && <PatternIssue type="regex" pattern={text} />}
          value={text}
          onInput={(entered) => put(kind, entered)}
        />
      )}
    </>
  )
}
