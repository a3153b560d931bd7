import type { JsonObject } from '../../core/contract/json.ts'

/** The request fields that are sent; others are rejected: https://ai.google.dev/api/generate-content */
export interface GeminiBody {
  readonly contents: readonly GeminiContent[]
  readonly systemInstruction?: { readonly parts: readonly TextPart[] }
  readonly tools?: readonly { readonly functionDeclarations: readonly FunctionDeclaration[] }[]
  readonly toolConfig?: { readonly functionCallingConfig: FunctionCallingConfig }
  readonly generationConfig: GenerationConfig
}

export interface GeminiContent {
  readonly role: 'user' | 'model'
  readonly parts: readonly GeminiPart[]
}

export type GeminiPart = TextPart | MediaPart | FunctionCallPart | FunctionResponsePart

export interface TextPart {
  readonly text: string
}

export type MediaPart =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly fileUri: string; readonly mimeType?: string } }

export interface FunctionCallPart {
  readonly functionCall: { readonly name: string; readonly args: JsonObject; readonly id?: string }
  readonly thoughtSignature?: string
}

export interface FunctionResponsePart {
  readonly functionResponse: { readonly name: string; readonly response: JsonObject; readonly id?: string }
}

export interface FunctionDeclaration {
  readonly name: string
  readonly description?: string
  /** A JSON schema; `parameters` would be a subset of OpenAPI. */
  readonly parametersJsonSchema?: unknown
}

export interface FunctionCallingConfig {
  /** `VALIDATED` is `AUTO` with arguments that conform to the schema. */
  readonly mode: 'AUTO' | 'ANY' | 'NONE' | 'VALIDATED'
  readonly allowedFunctionNames?: readonly string[]
}

export interface GenerationConfig {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly seed?: number | undefined
  readonly responseMimeType?: string
  readonly responseJsonSchema?: unknown
  readonly thinkingConfig?: ThinkingConfig | undefined
}

/** A level from Gemini 3 on, a budget in tokens before. Gemini rejects both together. */
export type ThinkingConfig = { readonly includeThoughts?: true } & (
  | { readonly thinkingLevel: ThinkingLevel }
  | { readonly thinkingBudget: number }
)

export type ThinkingLevel = 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'

/** Models with the same rules: Gemini from 3 on, Gemini up to 2.5, Gemma. */
export type GeminiFamily = 'gemini' | 'gemini-2' | 'gemma'
