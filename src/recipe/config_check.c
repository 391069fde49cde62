/* vkt__config_check: what spans options. Opens no file of a model: what `init` and `lora.from` name
 * is models/resolve.c's. */
#include <stdio.h>

#include "base/number.h"
#include "data/parts/task_rows.h"
#include "recipe/config.h"
#include "recipe/loss_terms.h"
#include "recipe/measure.h"
#include "recipe/options.h"
#include "recipe/task_rules.h"
#include "tensor/ops/optim/rules.h"

/* What is only for some sources. */
static vkt_status check_takes(const vkt_config *c, const vkt_source_info *s)
{
    const vkt_data_desc *d = &c->data;
    const struct {
        const char *option;
        bool given;
        vkt_source_takes takes;
    } rows[] = { { "data.test_path", d->test_path, VKT_TAKES_TEST_PATH },
                 { "data.columns", d->columns, VKT_TAKES_COLUMN },
                 { "data.ignore", d->ignore, VKT_TAKES_COLUMN },
                 { "data.embed", d->embed, VKT_TAKES_COLUMN },
                 { "data.classes", d->classes, VKT_TAKES_COLUMN },
                 { "data.text", d->text, VKT_TAKES_COLUMN },
                 { "data.bins", d->bins > 0, VKT_TAKES_COLUMN },
                 { "data.group", d->group, VKT_TAKES_COLUMN },
                 { "data.time", d->time, VKT_TAKES_COLUMN },
                 { "data.labels", d->labels, VKT_TAKES_LABELS },
                 { "data.size", vkt__config_was_set(c, "data.size") && strcmp(d->size, "auto"),
                   VKT_TAKES_SIZE } };
    char names[128];
    if (d->task == VKT_TASK_REGRESS && !(s->takes & VKT_TAKES_REGRESS))
        return vkt__config_refuse(c, "data.task", "regress needs %s data",
                                  vkt_source_names(VKT_TAKES_REGRESS, names, sizeof names));
    if (d->task == VKT_TASK_MULTILABEL && !(s->takes & VKT_TAKES_MULTILABEL))
        return vkt__config_refuse(c, "data.task", "multilabel needs %s data",
                                  vkt_source_names(VKT_TAKES_MULTILABEL, names, sizeof names));
    const vkt__task_row *row;
    if (!vkt__task_fits(d->task, s, &row))
        return vkt__config_refuse(c, "data.task", "%s and data.source: %s go together", row->name,
                                  row->source);
    bool points = d->task == VKT_TASK_POINTS, boxes = d->task == VKT_TASK_DETECT;
    if ((boxes || points) && d->fit != VKT_PICTURE_FIT_STRETCH)
        return vkt__config_refuse(c, "data.fit",
                                  "not for %s: all of a picture is shown, with grey around it",
                                  boxes ? "boxes" : "points");
    if (d->flip_pairs && !points)
        return vkt__config_refuse(c, "data.flip_pairs", "only for data.source: points");
    if (d->limbs && !points)
        return vkt__config_refuse(c, "data.limbs", "only for data.source: points");
    if (d->separator && d->task != VKT_TASK_MULTILABEL)
        return vkt__config_refuse(c, "data.separator", "only for data.task: multilabel");
    if (d->classes && d->task != VKT_TASK_REGRESS)
        return vkt__config_refuse(c, "data.classes",
                                  "only for data.task: regress with several labels: it names the "
                                  "classes among them");
    if (d->standardize == VKT_STANDARDIZE_IMAGENET && s->kinds != VKT_DATA_KIND_PICTURES)
        return vkt__config_refuse(c, "data.standardize", "imagenet is only for RGB images");
    if (d->standardize == VKT_STANDARDIZE_SYMMETRIC && s->kinds != VKT_DATA_KIND_PICTURES)
        return vkt__config_refuse(c, "data.standardize", "symmetric is only for images");
    if (d->standardize == VKT_STANDARDIZE_ROBUST && !(s->takes & VKT_TAKES_COLUMN))
        return vkt__config_refuse(c, "data.standardize", "robust is only for columns of a csv");
    if (d->target != VKT_TARGET_PLAIN && d->task != VKT_TASK_REGRESS)
        return vkt__config_refuse(c, "data.target", "only for data.task: regress");
    if (d->target != VKT_TARGET_PLAIN && s->kinds != VKT_DATA_KIND_TABLE)
        return vkt__config_refuse(c, "data.target", "only for numbers of tables: csv and npy");
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        if (rows[i].given && !(s->takes & rows[i].takes))
            return vkt__config_refuse(c, rows[i].option, "only for %s",
                                      vkt_source_names(rows[i].takes, names, sizeof names));
    return VKT_OK;
}

static vkt_status check_text(const vkt_config *c, bool text)
{
    const vkt_data_desc *d = &c->data;
    if (d->tokenizer && !text && !d->text)
        return vkt__config_refuse(c, "data.tokenizer",
                                  "only for text, the novel and a column of data.text");
    if (d->added_tokens && !text && (!d->text || !d->tokenizer))
        return vkt__config_refuse(c, "data.added_tokens",
                                  "only for text, and a column of data.text with a tokenizer");
    if (d->lowercase && (!d->text || d->tokenizer))
        return vkt__config_refuse(c, "data.lowercase",
                                  "only for the tokenizer that is trained on data.text");
    const struct {
        bool given;
        const char *option;
    } beside[] = { { d->columns != NULL, "data.columns" }, { d->embed != NULL, "data.embed" } };
    for (size_t i = 0; i < VKT_COUNT(beside) && d->text; i++)
        if (beside[i].given)
            return vkt__config_refuse(c, beside[i].option,
                                      "not with data.text, whose column is the only input");
    if (c->sample_prompt && !text)
        return vkt__config_refuse(c, "samples.prompt", "only for text and the novel");
    if (d->document_mask && !text)
        return vkt__config_refuse(c, "data.document_mask", "only for text");
    const struct {
        bool given;
        const char *option;
    } rows[] = { { d->packing != VKT_PACKING_AUTO, "data.packing" },
                 { d->too_long != VKT_TOO_LONG_STOP, "data.too_long" },
                 { d->skip_bad_lines, "data.skip_bad_lines" },
                 { d->chat_template != NULL, "data.chat_template" },
                 { d->today != NULL, "data.today" } };
    for (size_t i = 0; i < VKT_COUNT(rows) && !text; i++)
        if (rows[i].given) return vkt__config_refuse(c, rows[i].option, "only for text");
    if (text && c->class_weight != VKT_CLASS_WEIGHT_NONE)
        return vkt__config_refuse(c, "loss.class_weight", "not for text");
    return VKT_OK;
}

/* What has meaning for preferences alone, or none for them. dpo's reference is the base without the
 * adapter. */
static vkt_status check_preference(const vkt_config *c)
{
    bool dpo = c->loss == VKT_LOSS_KIND_DPO, simpo = c->loss == VKT_LOSS_KIND_SIMPO;
    const struct {
        bool wrong;
        const char *option, *why;
    } rows[] = {
        { !dpo && !simpo && c->data.packing == VKT_PACKING_PAIRS, "data.packing",
          "pairs is for loss.kind: dpo and simpo" },
        { !dpo && !simpo && c->loss_beta > 0, "loss.beta", "only for loss.kind: dpo and simpo" },
        { !simpo && c->loss_margin != 1, "loss.margin", "only for loss.kind: simpo" },
        { (dpo || simpo) && !vkt__config_is_text(c), "loss.kind",
          "dpo and simpo are for text: preferences in JSON lines" },
        { (dpo || simpo) && c->ignore_index >= 0, "loss.ignore_index", "not for preferences" },
        { dpo && !c->lora.rank, "loss.kind",
          "dpo trains an adapter (lora.rank), since its reference is the model without it; simpo "
          "has none" },
        { dpo && c->lora.modules && c->data.added_tokens, "data.added_tokens",
          "not with loss.kind: dpo, whose reference is the model's own weights: add them in a run "
          "before" },
        { dpo && c->lora.modules, "lora.modules_to_save",
          "not with loss.kind: dpo, whose reference is the model's own weights" },
        { dpo && c->lora.bias, "lora.bias",
          "not with loss.kind: dpo, whose reference is the model's own weights" },
        { (dpo || simpo) && c->data.packing != VKT_PACKING_PAIRS, "data.packing",
          "preferences have pairs" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        if (rows[i].wrong) return vkt__config_refuse(c, rows[i].option, "%s", rows[i].why);
    return VKT_OK;
}

/* The layer whose output a loss is of stands in the model's own list. */
static vkt_status check_on(const vkt_config *c, const vkt_loss_term *t)
{
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < c->n_layers; i++) {
        if (!c->layers[i].name) continue;
        if (!strcmp(c->layers[i].name, t->on)) return VKT_OK;
        if (n < VKT_COUNT(names)) names[n++] = c->layers[i].name;
    }
    vkt_hint hint = vkt_did_you_mean(t->on, names, n);
    return vkt__config_refuse(c, "losses", "no layer of the model has the name '%s'%s",
                              vkt__show(t->on).s,
                              *hint.text ? hint.text : ": give the layer `name`");
}

static vkt_status check_losses(const vkt_config *c)
{
    vkt_status st = VKT_OK;
    bool regress = c->data.task == VKT_TASK_REGRESS, chosen = !c->loss_on;
    if (c->loss_on && !c->n_losses)
        return vkt__config_refuse(c, "checkpoint.on", "has no meaning without `losses`");
    if (c->loss_on && strcmp(c->metric, "loss") != 0)
        return vkt__config_refuse(c, "checkpoint.on", "only for checkpoint.metric: loss, not %s",
                                  c->metric);
    if (c->n_losses && vkt__config_is_text(c))
        return vkt__config_refuse(c, "losses", "not for text");
    const char *no_losses = vkt__task_rules_of(c->data.task)->no_losses;
    if (c->n_losses && no_losses) return vkt__config_refuse(c, "losses", "%s", no_losses);
    for (size_t i = 0; i < c->n_losses; i++) {
        const vkt_loss_term *t = &c->losses[i];
        VKT_TRY(check_on(c, t));
        if (t->kind == VKT_LOSS_KIND_DPO || t->kind == VKT_LOSS_KIND_SIMPO)
            return vkt__config_refuse(c, "losses", "'%s': dpo and simpo are for text", t->on);
        if (t->target && !regress)
            return vkt__config_refuse(c, "losses",
                                      "'%s': target is for data.task: regress, whose labels are "
                                      "several columns",
                                      t->on);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(c->losses[k].on, t->on) && c->losses[k].kind == t->kind &&
                !c->losses[k].kind_follows && !t->kind_follows) /* else the data knows */
                return vkt__config_refuse(c, "losses", "two entries are %s of '%s'",
                                          vkt__loss_kind_name(t->kind), t->on);
        chosen = chosen || !strcmp(t->on, c->loss_on);
    }
    const char *last = c->n_layers ? c->layers[c->n_layers - 1].name : NULL;
    bool has_last = !c->n_losses;
    for (size_t i = 0; i < c->n_losses; i++) has_last |= last && !strcmp(last, c->losses[i].on);
    if (!has_last)
        return vkt__config_refuse(c, "losses",
                                  "the model's last layer has none: give it a name and an entry");
    if (!chosen)
        return vkt__config_refuse(c, "checkpoint.on", "no entry of `losses` is on '%s'",
                                  vkt__show(c->loss_on).s);
fail:
    return st;
}

static vkt_status check_kind(const vkt_config *c, const char *option, vkt_loss_kind kind)
{
    bool regress = c->data.task == VKT_TASK_REGRESS, focal = kind == VKT_LOSS_KIND_FOCAL,
         several = c->data.task == VKT_TASK_MULTILABEL;
    bool picture = c->data.task == VKT_TASK_PICTURE, l1 = kind == VKT_LOSS_KIND_L1,
         dice = kind == VKT_LOSS_KIND_DICE || kind == VKT_LOSS_KIND_DICE_CE;
    bool of_numbers = kind == VKT_LOSS_KIND_MSE || kind == VKT_LOSS_KIND_HUBER || l1;
    for (vkt_task t = 0; vkt__task_at(t); t++) {
        const vkt__task_rules *r = vkt__task_rules_of(t);
        if (r->own_loss && (kind == r->loss) != (c->data.task == t))
            return vkt__config_refuse(c, option, "data.task: %s has %s, and no other task has",
                                      vkt__task_at(t)->name, vkt__loss_kind_name(r->loss));
    }
    if (dice && c->data.task != VKT_TASK_SEGMENT)
        return vkt__config_refuse(c, option, "dice and dice_ce are for data.task: segment");
    if (dice && c->label_smoothing > 0)
        return vkt__config_refuse(c, "loss.label_smoothing", "not with loss.kind: dice, dice_ce");
    if (l1 && !picture) return vkt__config_refuse(c, option, "l1 is for data.task: picture");
    if ((kind == VKT_LOSS_KIND_BCE) != several)
        return vkt__config_refuse(c, option, "data.task: multilabel has bce, and no other has");
    bool of_classes = kind == VKT_LOSS_KIND_CROSS_ENTROPY || focal;
    if (of_classes && c->data.classes && c->n_losses) return VKT_OK; /* the data knows its labels */
    if (of_numbers != (regress || picture))
        return vkt__config_refuse(c, option, "%s",
                                  picture   ? "data.task: picture has l1, mse and huber"
                                  : regress ? "data.task: regress has mse and huber"
                                            : "classes and tokens have cross_entropy and focal");
    if (focal && vkt__config_is_text(c))
        return vkt__config_refuse(c, option, "focal is not for text");
    if (focal && (c->label_smoothing > 0 || c->augment.mixup > 0 || c->augment.cutmix > 0))
        return vkt__config_refuse(c, option, "focal needs one label of each example: not with %s",
                                  c->label_smoothing > 0 ? "loss.label_smoothing"
                                  : c->augment.mixup > 0 ? "data.augment.mixup"
                                                         : "data.augment.cutmix");
    return VKT_OK;
}

static vkt_status check_loss(const vkt_config *c)
{
    vkt_status st = VKT_OK;
    VKT_TRY(check_losses(c));
    for (size_t i = 0; i < c->n_losses; i++) VKT_TRY(check_kind(c, "losses", c->losses[i].kind));
    if (!c->n_losses) VKT_TRY(check_kind(c, "loss.kind", c->loss));
    if (!vkt__config_has_loss(c, VKT_LOSS_KIND_FOCAL) && c->loss_gamma != 2)
        return vkt__config_refuse(c, "loss.gamma", "only for loss.kind: focal");
    if (!vkt__config_has_loss(c, VKT_LOSS_KIND_HUBER) && c->loss_delta != 1)
        return vkt__config_refuse(c, "loss.delta", "only for loss.kind: huber");
fail:
    return st;
}

static vkt_status check_data(const vkt_config *c)
{
    vkt_status st;
    const vkt_data_desc *d = &c->data;
    vkt_source_info s;
    if (!vkt_source_find(d->source, &s))
        return vkt__config_refuse(c, "data.source", "there is no source '%s'", d->source);
    if (!s.path && d->path)
        return vkt__config_refuse(c, "data.path", "'%s' is built in and takes no path", s.name);
    if (s.path && !d->arrays && (!d->path || !d->path[0]))
        return vkt__config_refuse(c, "data.path", "is missing: %s", s.path);
    VKT_TRY(check_text(c, vkt__config_is_text(c)));
    VKT_TRY(check_takes(c, &s));
    bool several = d->task == VKT_TASK_MULTILABEL, detect = d->task == VKT_TASK_DETECT,
         points = d->task == VKT_TASK_POINTS, instances = d->task == VKT_TASK_INSTANCES,
         regress = d->task == VKT_TASK_REGRESS || d->task == VKT_TASK_PICTURE || detect || points ||
                   instances;
    const struct {
        bool given;
        const char *option;
    } rows[] = { { c->sampling == VKT_SAMPLING_BALANCED, "data.sampling" },
                 { c->label_smoothing != 0, "loss.label_smoothing" },
                 { c->ignore_index >= 0, "loss.ignore_index" },
                 { c->class_weight != VKT_CLASS_WEIGHT_NONE && regress, "loss.class_weight" },
                 { c->augment.mixup > 0 && !detect, "data.augment.mixup" },
                 { c->augment.cutmix > 0, "data.augment.cutmix" } };
    for (size_t i = 0; i < VKT_COUNT(rows) && (regress || several); i++)
        if (rows[i].given)
            return vkt__config_refuse(c, rows[i].option, "only for classes, not for data.task: %s",
                                      vkt__task_at(d->task)->name);
fail:
    return st;
}

uint32_t vkt__balance_parse(const char *list, uint32_t *shares, uint32_t room)
{
    enum { MOST = 1000000 };
    uint32_t n = 0;
    for (const char *p = list; p; n++) {
        char word[16];
        uint64_t v = 0;
        while (*p == ' ') p++;
        snprintf(word, sizeof word, "%.*s", (int)VKT_MIN(strcspn(p, ", "), sizeof word - 1), p);
        if (!vkt__parse_u64(word, &v) || v < 1 || v > MOST) return 0;
        if (n < room) shares[n] = (uint32_t)v;
        p = strchr(p, ',');
        if (p) p++;
    }
    return n;
}

static vkt_status check_balance(const vkt_config *c)
{
    const char *b = c->balance;
    if (!strcmp(b, "equal") || !strcmp(b, "measured") || vkt__balance_parse(b, NULL, 0))
        return VKT_OK;
    return vkt__config_refuse(c, "train.balance",
                              "'%s' is neither equal, measured nor a list of whole numbers from 1 "
                              "to 1000000, one for each rank, such as [2, 1]",
                              b);
}

static vkt_status check_compress(const vkt_config *c)
{
    if (c->compress == VKT_COMPRESS_NONE) return VKT_OK;
    if (c->sync_every > 1)
        return vkt__config_refuse(c, "train.compress",
                                  "it can't be combined with train.sync.every");
    if (c->precision == VKT_F16)
        return vkt__config_refuse(c, "train.compress",
                                  "it can't be combined with train.precision fp16, whose loss "
                                  "scale differs from step to step; take bf16 or fp32");
    return VKT_OK;
}

/* Evaluations are of parameters that the ranks agree on. */
static vkt_status check_sync(const vkt_config *c)
{
    uint32_t n = c->sync_every;
    if (n <= 1) return VKT_OK;
    const char *other = c->shard             ? "optim.shard"
                        : c->batch_norm_sync ? "train.batch_norm_sync"
                        : c->optim.ema > 0   ? "train.ema"
                                             : NULL;
    if (other)
        return vkt__config_refuse(c, "train.sync.every", "it can't be combined with %s", other);
    if (c->eval_every % n && c->eval_every < vkt_schedule_total(&c->schedule))
        return vkt__config_refuse(c, "eval.every",
                                  "%u is no multiple of train.sync.every = %u: the ranks' "
                                  "parameters are the same only then",
                                  c->eval_every, n);
    return VKT_OK;
}

static vkt_status check_rule(const vkt_config *c)
{
    const vkt__rule *r = vkt__rule_at((uint32_t)c->optim.rule);
    /* A number that the rule does not use is refused, unless it is the default: a recipe that is
     * written whole holds all numbers. */
    const struct {
        const char *name;
        uint32_t use;
        float is, else_is;
    } numbers[] = {
        { "optim.beta3", VKT__USES_BETA3, c->optim.beta3, 0.99f },
        { "optim.rest_lr", VKT__USES_REST_LR, c->optim.rest_lr, 0.015f },
    };
    for (size_t i = 0; i < VKT_COUNT(numbers); i++)
        if (!(r->uses & numbers[i].use) && numbers[i].is != numbers[i].else_is)
            return vkt__config_refuse(c, numbers[i].name, "optim.rule %s has no use for it",
                                      r->name);
    if (r->not_in_8bit && c->optim.moments == VKT_MOMENTS_8BIT)
        return vkt__config_refuse(c, "optim.moments",
                                  "optim.rule %s can't have them in 8 bits, as %s: set it to fp32",
                                  r->name, r->not_in_8bit);
    if (r->whole && c->shard)
        return vkt__config_refuse(c, "optim.shard",
                                  "optim.rule %s needs whole tensors, which shards cut: set it to "
                                  "false, or take another rule",
                                  r->name);
    return VKT_OK;
}

static vkt_status check_schedule(const vkt_config *c)
{
    const vkt_schedule *s = &c->schedule;
    if (s->warmup_included && s->warmup >= s->steps)
        return vkt__config_refuse(c, "schedule.warmup",
                                  "%llu steps of warmup leave none of train.steps = %llu",
                                  (unsigned long long)s->warmup, (unsigned long long)s->steps);
    if (s->kind == VKT_SCHED_STEPS && !s->n_milestones)
        return vkt__config_refuse(c, "schedule.milestones",
                                  "is missing: schedule.kind: steps needs it");
    if (s->n_milestones && s->kind != VKT_SCHED_STEPS)
        return vkt__config_refuse(c, "schedule.milestones", "only for schedule.kind: steps");
    if (s->n_milestones && s->milestones[s->n_milestones - 1] >= s->steps)
        return vkt__config_refuse(c, "schedule.milestones", "%llu lies past train.steps = %llu",
                                  (unsigned long long)s->milestones[s->n_milestones - 1],
                                  (unsigned long long)s->steps);
    return VKT_OK;
}

static vkt_status check_metric(const vkt_config *c)
{
    bool regress = c->data.task == VKT_TASK_REGRESS, text = vkt__config_is_text(c),
         several = c->data.task == VKT_TASK_MULTILABEL;
    const vkt__measure *m = vkt__measure_named(c->metric);
    VKT_ASSERT(m);
    bool right = c->data.classes && m->of == VKT__OF_HITS;
    if (regress && m->of != VKT__OF_ALL && m->of != VKT__OF_NUMBERS && !right)
        return vkt__config_refuse(c, "checkpoint.metric",
                                  "%s is not measured with data.task: regress", c->metric);
    if (text && m->of != VKT__OF_ALL && m->of != VKT__OF_HITS && m->of != VKT__OF_NUMBERS)
        return vkt__config_refuse(c, "checkpoint.metric",
                                  "%s is not measured on text: accuracy and loss are", c->metric);
    bool segment = c->data.task == VKT_TASK_SEGMENT, picture = c->data.task == VKT_TASK_PICTURE;
    bool of_pixels = m->of == VKT__OF_ALL || m->of == VKT__OF_HITS || m->of == VKT__OF_CLASSES ||
                     m->of == VKT__OF_ONE || m->of == VKT__OF_PIXELS;
    if ((segment && !of_pixels) || (!segment && m->of == VKT__OF_PIXELS) ||
        (picture && m->of != VKT__OF_ALL && m->of != VKT__OF_PICTURES) ||
        (!picture && m->of == VKT__OF_PICTURES))
        return vkt__config_refuse(c, "checkpoint.metric", "%s is not measured with data.task: %s",
                                  c->metric, vkt__task_at(c->data.task)->name);
    for (vkt_task t = 0; vkt__task_at(t); t++) {
        const vkt__task_rules *r = vkt__task_rules_of(t);
        bool its = c->data.task == t, own = m->of == r->of, has = own || m->of == r->of_too;
        if (r->of == VKT__OF_ALL || (its ? has || m->of == VKT__OF_ALL : !own)) continue;
        if (its)
            return vkt__config_refuse(c, "checkpoint.metric",
                                      "%s is not measured with data.task: %s: %s are", c->metric,
                                      vkt__task_at(t)->name, r->measures);
        return vkt__config_refuse(c, "checkpoint.metric",
                                  "%s is not measured with this data.task: it is of %s", c->metric,
                                  vkt__task_at(t)->source);
    }
    if (several && m->of == VKT__OF_ONE)
        return vkt__config_refuse(c, "checkpoint.metric",
                                  "%s is not measured with data.task: multilabel", c->metric);
    if (!several && m->of == VKT__OF_LABELS)
        return vkt__config_refuse(c, "checkpoint.metric",
                                  "%s is measured with data.task: multilabel only", c->metric);
    if (!regress && m->of == VKT__OF_NUMBERS)
        return vkt__config_refuse(c, "checkpoint.metric",
                                  "%s is measured with data.task: regress only", c->metric);
    return VKT_OK;
}

static vkt_status check_calibration(const vkt_config *c)
{
    bool regress = c->data.task != VKT_TASK_CLASSIFY && c->data.task != VKT_TASK_MULTILABEL,
         text = vkt__config_is_text(c);
    if (c->threshold != VKT_THRESHOLD_NONE && (regress || text))
        return vkt__config_refuse(c, "calibration.threshold",
                                  "only for two classes and several labels");
    if (c->threshold != VKT_THRESHOLD_COST && c->miss_cost != 1)
        return vkt__config_refuse(c, "calibration.miss_cost",
                                  "only for calibration.threshold: cost");
    return VKT_OK;
}

/* The run folder's name begins with it. */
static vkt_status check_name(const vkt_config *c)
{
    if (!c->name[0] || c->name[0] == '.' || strpbrk(c->name, "/\\:*?\"<>|\n\r\t") ||
        strlen(c->name) > 100)
        return vkt__config_refuse(c, "name", "'%s' can't be part of a folder's name", c->name);
    return VKT_OK;
}

const char *vkt__config_base(const vkt_config *c)
{
    for (size_t i = 0; i < c->n_layers && !c->init; i++)
        if (!strcmp(c->layers[i].type, "onnx")) return c->layers[i].file;
    return c->init;
}

static vkt_status check_lora(const vkt_config *c)
{
    if (!c->lora.rank) {
        const char *alone = c->lora.targets         ? "lora.targets"
                            : c->lora.base          ? "lora.base"
                            : c->lora.dropout > 0   ? "lora.dropout"
                            : c->lora.alpha > 0     ? "lora.alpha"
                            : c->lora.rslora        ? "lora.rslora"
                            : c->lora.dora          ? "lora.dora"
                            : c->lora.rank_pattern  ? "lora.rank_pattern"
                            : c->lora.alpha_pattern ? "lora.alpha_pattern"
                            : c->lora.modules       ? "lora.modules_to_save"
                            : c->lora.bias          ? "lora.bias"
                                                    : NULL;
        return alone ? vkt__config_refuse(c, alone, "has no meaning without lora.rank") : VKT_OK;
    }
    const char *base = vkt__config_base(c);
    if (!base)
        return vkt__config_refuse(c, "lora.rank",
                                  "an adapter needs `init`: the model that it adapts");
    if (base != c->init && c->lora_from)
        return vkt__config_refuse(c, "lora.from", "not for the net of an ONNX file");
    for (size_t i = 0; i < c->n_layers && c->init; i++)
        if (!strcmp(c->layers[i].type, "onnx"))
            return vkt__config_refuse(
                c, "lora.rank",
                "beside an ONNX file `init` is no base of adapters: `vktrain "
                "export` writes the tuned net, whose file `model` then names");
    return VKT_OK;
}

static vkt_status check_neftune(const vkt_config *c)
{
    if (!(c->neftune > 0) || !strcmp(c->layers[0].type, "transformer")) return VKT_OK;
    return vkt__config_refuse(c, "train.neftune", "only for language models: model: transformer");
}

static vkt_status no_model(const vkt_config *c)
{
    return vkt__fail(VKT_E_ARG, "config", "%s: model is missing: a list of layers",
                     c->source ? c->source : "config");
}

static vkt_status missing_source(const vkt_config *c)
{
    char names[160];
    return vkt__config_refuse(c, "data.source", "is missing: %s",
                              vkt_source_names(0, names, sizeof names));
}

vkt_status vkt__config_check(const vkt_config *c)
{
    vkt_status st = VKT_OK;
    if (!c->n_layers && !c->init) return no_model(c);
    if (!c->data.source) return missing_source(c);
    if (!c->n_layers) return no_model(c);
    VKT_TRY(check_lora(c));
    VKT_TRY(check_name(c));
    VKT_TRY(check_preference(c));
    VKT_TRY(check_data(c));
    VKT_TRY(check_loss(c));
    VKT_TRY(check_rule(c));
    VKT_TRY(check_schedule(c));
    VKT_TRY(check_metric(c));
    VKT_TRY(check_calibration(c));
    VKT_TRY(check_balance(c));
    VKT_TRY(check_neftune(c));
    VKT_TRY(check_compress(c));
    VKT_TRY(check_sync(c));
    if (c->eval_batch < c->batch)
        return vkt__config_refuse(
            c, "eval.batch",
            "%u is less than train.batch = %u; evaluation needs no gradients, so it fits",
            c->eval_batch, c->batch);
fail:
    return st;
}
