import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from '../shared/wire-format.ts'

/** The known fields of an API object; `true` marks a field whose content is not checked. */
interface FieldTree {
  readonly [field: string]: FieldTree | true
}

const PART: FieldTree = {
  ...fields('text thought thoughtSignature videoMetadata mediaResolution executableCode codeExecutionResult'),
  inlineData: fields('mimeType data'),
  fileData: fields('mimeType fileUri'),
  functionCall: fields('id name args'),
  functionResponse: fields('id name response parts scheduling willContinue'),
}

const CONTENT: FieldTree = { ...fields('role'), parts: PART }

const GENERATION_CONFIG: FieldTree = {
  ...fields(`stopSequences responseMimeType responseSchema responseJsonSchema responseModalities
    candidateCount maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty
    responseLogprobs logprobs enableEnhancedCivicAnswers speechConfig mediaResolution`),
  thinkingConfig: fields('includeThoughts thinkingBudget thinkingLevel'),
}

const DECLARATION = fields(
  'name description behavior parameters parametersJsonSchema response responseJsonSchema',
)

const REQUEST: FieldTree = {
  ...fields('safetySettings cachedContent serviceTier store continuationToken'),
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: {
    ...fields('googleSearch codeExecution urlContext fileSearch computerUse googleMaps'),
    functionDeclarations: DECLARATION,
  },
  toolConfig: {
    ...fields('retrievalConfig includeServerSideToolInvocations'),
    functionCallingConfig: fields('mode allowedFunctionNames'),
  },
  generationConfig: GENERATION_CONFIG,
}

function fields(names: string): Readonly<Record<string, true>> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, true]))
}

/** Throws a `SandboxError` (400) for the first field that Gemini did not know in November 2026. */
export function checkGeminiFields(body: JsonObject): void {
  checkKnownFields(body, REQUEST, '')
}

function checkKnownFields(value: unknown, tree: FieldTree | true, path: string): void {
  if (tree === true) return
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkKnownFields(item, tree, `${path}[${index}]`)
  } else if (isJsonObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      const subtree = Object.hasOwn(tree, name) ? tree[name] : undefined
      if (subtree === undefined) throw unknownField(name, path)
      checkKnownFields(field, subtree, path === '' ? name : `${path}.${name}`)
    }
  }
}

function unknownField(name: string, path: string): SandboxError {
  const location = path === '' ? '' : ` at '${path}'`
  return new SandboxError(
    400,
    `Invalid JSON payload received. Unknown name "${name}"${location}: Cannot find field.`,
  )
}
