"""Writes tests/data/generate/chat_templates.json: templates, and what jinja2 makes of them as transformers sets it up."""
import datetime
import json
import sys

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
def env():
    e=ImmutableSandboxedEnvironment(trim_blocks=True,lstrip_blocks=True,extensions=["jinja2.ext.loopcontrols"])
    def tojson(x,ensure_ascii=False,indent=None,separators=None,sort_keys=False):
        return json.dumps(x,ensure_ascii=ensure_ascii,indent=indent,separators=separators,sort_keys=sort_keys)
    e.filters["tojson"]=tojson
    def raise_exception(m): raise jinja2.exceptions.TemplateError(m)
    e.globals["raise_exception"]=raise_exception
    e.globals["strftime_now"]=lambda f: datetime.datetime.fromtimestamp(1753833600,datetime.timezone.utc).strftime(f)
    return e
T={}
T["llama-2"]="""{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""
T["llama-3"]="""{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""
T["llama-3.1"]="""{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- This block extracts the system message, so we can slot it into the right place. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{#- System message #}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {{- "You have access to the following functions. To call a function, please respond with JSON for a function call." }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}

{#- Custom tools are passed in a user message with some extra guidance #}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}

{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
T["qwen-2.5"]="""{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou are provided with function signatures within <tools></tools> XML tags:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
T["qwen-3"]="""{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
T["gemma"]="""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"""
T["gemma-3"]="""{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\n'}}
{%- endif -%}
"""
T["mistral"]="""{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"""
T["mistral-tools"]="""{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}
"""
T["phi-3"]="""{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"""
T["smollm2"]="""{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""
T["chatml-macro"]="""{%- macro turn(role, content='', end='<|im_end|>') -%}
<|im_start|>{{ role }}
{{ content }}{{ end }}
{% endmacro -%}
{%- for message in messages -%}
{{ turn(message.role, content=message.content | trim) }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ turn('assistant', end='') }}{%- endif -%}
"""
convs={
 "question":[{"role":"user","content":"  What is 2 + 2?\n"}],
 "system":[{"role":"system","content":"Be brief."},{"role":"user","content":"Grüße, 世界!"},{"role":"assistant","content":"<think>\nhm\n</think>\n\nHello \"you\"."},{"role":"user","content":"Bye"}],
 "turns":[{"role":"user","content":"a"},{"role":"assistant","content":" b "},{"role":"user","content":"c"}],
 "wrong":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}
tools=[{"type":"function","function":{"name":"weather","description":"Says the \"weather\"","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":1.0}},"required":["city"]}}}]
out={"templates":[], "expressions":[]}
for name,t in T.items():
    cases=[]
    for cn,m in convs.items():
        for asks in (True,False):
            for more in ({},{"tools":tools},{"enable_thinking":False}):
                if more and cn!="system": continue
                kw={"tools":None,"documents":None,**more}
                c={"messages":m,"asks":asks,"more":more}
                try: c["text"]=env().from_string(t).render(messages=m,bos_token="<s>",eos_token="</s>",add_generation_prompt=asks,**kw)
                except jinja2.exceptions.TemplateError as e: c["error"]=str(e)
                cases.append(c)
    out["templates"].append({"name":name,"template":t,"cases":cases})
X=r'''{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 1.5e3 }} {{ 1e16 }} {{ 0.1 }} {{ 2.0 }}
{{ 'a' ~ 1 ~ none ~ true }} {{ 'ab' * 3 }} {{ [1, 'x', none, 2.5, {'k': "v'"}] }}
{{ (1, 2) | list }} {{ 'héllo'[1] }} {{ 'héllo'[::-1] }} {{ 'héllo'[1:3] }} {{ 'héllo'[-2:] }} {{ [1,2,3,4][::2] }} {{ [1,2,3][5:] }}
{{ 'x' if false else 'y' }}{{ 'z' if false }} {{ not true or true and false }} {{ 1 < 2 < 3 }} {{ 'a' in 'cat' }} {{ 'a' not in ['a'] }}
{{ ' a b '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a,b,c'.split(',', 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}
{{ 'abc'.upper() }} {{ 'hello world'.title() }} {{ 'hELLO'.capitalize() }} {{ 'abc'.replace('b', 'x') }} {{ 'abc'.find('c') }} {{ 'abab'.count('ab') }} {{ 'abc'.startswith(('x', 'a')) }}
{{ ['a', 'b'] | join('-') }} {{ '-'.join(['a', 'b']) }} {{ [3,1,2] | sort }} {{ ['b', 'A'] | sort }} {{ [1,2,2] | unique | list }} {{ [1,2,3] | sum }} {{ [1,2] | first }} {{ [1,2] | last }} {{ 'abc' | reverse }}
{{ undefined_name | default('d') }} {{ '' | default('e', true) }} {{ none | default('n') }} {{ x is defined }} {{ x is not defined }}{{ x }}
{{ {'a': 1, 'b': [1, 2]} | tojson }} {{ 'é"\n\t' | tojson }} {{ [] | tojson(indent=2) }} {{ [1] | tojson(separators=(',', ':')) }}
{{ {'b': 1, 'a': {'c': [1, {}]}} | tojson(indent=2) }}
{{ {'b': 2, 'a': 1} | tojson(sort_keys=true) }} {{ {'b': 2, 'a': 1} | dictsort }} {{ {'b': 2}.items() | list }} {{ {'b': 2}.get('c', 5) }} {{ {'b': 2}.get('c') }}
{% for i in range(5) if i is odd %}{{ loop.index }}/{{ loop.length }}:{{ i }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}
{% for i in [] %}x{% else %}none{% endfor %}
{% for a, b in [[1, 2], [3, 4]] %}{{ a }}-{{ b }};{% endfor %}
{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in 'ab' %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('x', 'y') }}{{ loop.revindex }}{{ loop.revindex0 }}{% endfor %}
{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}
{% set ns = namespace(x=1) %}{% for i in [1] %}{% set ns.x = 2 %}{% endfor %}{{ ns.x }}
{% set a, b = 1, 2 %}{{ a + b }} {% set t %}block {{ a }}{% endset %}{{ t | upper }}
{% macro m(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, b=3) }}{{ m(a=4) | upper }}
{% if false %}a{% elif none %}b{% elif [] %}c{% else %}d{% endif %}
{{ [{'r': 'u', 'c': 1}, {'r': 's', 'c': 2}] | selectattr('r', 'equalto', 'u') | map(attribute='c') | list }} {{ ['a', 'b'] | map('upper') | list }} {{ [1, 0, 2] | select | list }} {{ [1, 2] | reject('odd') | list }}
{{ 5 is divisibleby 5 }} {{ 5 is number }} {{ 'x' is string }} {{ {} is mapping }} {{ [] is sequence }} {{ none is none }} {{ true is boolean }} {{ 3 is integer }} {{ 3.0 is float }} {{ 1 is true }} {{ true is true }}
{{ 'abc' | length }} {{ 'héé' | length }} {{ {'a': 1} | length }} {{ ' x ' | trim }} {{ 'a\nb' | indent(2) }} {{ 'a\nb' | indent(2, true) }} {{ '12' | int }} {{ 'x' | int(7) }} {{ '1.5' | float }} {{ -3 | abs }} {{ 5 | string }}
{{ '\u00e9\x41\'' }} {{ "a" "b" }} {{ 1_000 }} {{ [1,2] + [3] }} {{ [1,2] == [1,2] }} {{ 1 == 1.0 }} {{ '1' == 1 }} {{ {'a': 1}.a }} {{ {'a': 1}['a'] }} {{ {'a': 1}.zz is defined }}
{{ 'ab'.removeprefix('a') }} {{ 'ab'.removesuffix('b') }} {{ 'a\nb'.splitlines() }} {{ 'aXbX' | replace('X', '') }} {{ (5 > 3) | string }} {{ {'k': true} }}
a {%- if true %} b {% endif -%} c
a {{- ' b ' -}} c
  {% if true %}
  x
  {% endif %}
y'''.split("\n")
X=X[:-7]+["a {%- if true %} b {% endif -%} c","a {{- ' b ' -}} c","  {% if true %}\n  x\n  {% endif %}\ny\n","  {%+ if true %}\n  x\n  {% endif +%}\ny\n\n","{# c #}\nx {# d -#}\n  y","a\r\nb\n{% set x = 1 %}\n{{ x }}\n","t {% if true -%}\n  x\n{%- endif %}\n  {% if true %}u{% endif %}","{{ strftime_now('%d %b %Y %H:%M') }}","{% if true %}\n\n  {% if true %}\nz{% endif %}{% endif %}"]
for x in X:
    c={"template":x}
    try: c["text"]=env().from_string(x).render()
    except Exception as e: c["error"]=repr(e)
    out["expressions"].append(c)
open(sys.argv[1], "w").write(json.dumps(out,ensure_ascii=False,indent=1)+"\n")
